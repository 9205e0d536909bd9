/** The documents server as the command line starts it: a server of its own, with no host around it. */
export { serveDocuments } from '../documents/serve-documents.ts'
