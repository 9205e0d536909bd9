/** `comity docs`: our documents server, over stdio or HTTP. */
import { homedir } from 'node:os'
import { join } from 'node:path'
import { serveDocuments } from '../gateway/serve-documents.ts'
import { packageVersion } from '../gateway/compose/version.ts'
import { userStateDirectory } from '../gateway/config/find-config.ts'
import { EXIT } from './exit-codes.ts'
import { portOf } from './port.ts'

const DEFAULT_PORT = 7879

export async function docs(
  folders: readonly string[],
  options: { readonly as?: string; readonly http?: string | boolean },
): Promise<number> {
  const port = portOption(options.http)
  const served = await serveDocuments(
    {
      folders,
      version: packageVersion(),
      keyFile: join(userStateDirectory(process.env, homedir()), 'docs.key'),
      ...(options.as === undefined ? {} : { as: options.as }),
      ...(port === undefined ? {} : { http: { port } }),
    },
    {
      lookupEnvironment: (name) => process.env[name],
      input: process.stdin,
      output: process.stdout,
      log: (line) => void process.stderr.write(`${line}\n`),
    },
  )
  const stop = (): void => void served.close()
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  await served.done
  process.stdin.destroy()
  return EXIT.done
}

/** The bare option takes our own; without it there is none. */
function portOption(value: string | boolean | undefined): number | undefined {
  if (value === undefined || value === false) return undefined
  return value === true ? DEFAULT_PORT : portOf(value)
}
