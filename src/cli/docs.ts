/** `comity docs`: our documents server, over stdio or HTTP. */
import { homedir } from 'node:os'
import { join } from 'node:path'
import { serveDocuments } from '../gateway/serve-documents.ts'
import { ComityError } from '../gateway/admin/errors.ts'
import { packageVersion } from '../gateway/compose/version.ts'
import { userStateDirectory } from '../gateway/config/find-config.ts'
import { EXIT } from './exit-codes.ts'

const DEFAULT_PORT = 7879

export async function docs(
  folders: readonly string[],
  options: { readonly as?: string; readonly http?: string | boolean },
): Promise<number> {
  const port =
    options.http === undefined || options.http === false ? undefined : portOf(options.http)
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

/** `true` is the bare option. @throws ComityError `usage` */
export function portOf(value: string | true): number {
  if (value === true) return DEFAULT_PORT
  const port = Number(value)
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new ComityError(
      'usage',
      `a port is a whole number from 0 to 65535, got ${JSON.stringify(value)}`,
    )
  return port
}
