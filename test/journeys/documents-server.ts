/**
 * Starts the documents server as a process of its own: `documents-server.ts '<options as JSON>'`.
 */
import { serveDocuments, type ServeDocumentsOptions } from '../../src/documents/serve-documents.ts'

const options = JSON.parse(process.argv[2] ?? '{}') as ServeDocumentsOptions
const served = await serveDocuments(options, {
  lookupEnvironment: (name) => process.env[name],
  input: process.stdin,
  output: process.stdout,
  log: (line) => process.stderr.write(`${line}\n`),
})
process.once('SIGTERM', () => void served.close())
await served.done
