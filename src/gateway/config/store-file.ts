/** Where a configuration's store lies. A file of its own, without the parser, so that a thin process can know it too. */
import { createHash } from 'node:crypto'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { userStateDirectory } from './find-config.ts'

/**
 * By a hash of the config's path when nothing is said: two configs never share a store by accident.
 *
 * @param store what `store:` says.
 * @param from the config file with links resolved, and the user's directories.
 */
export function storeFile(
  store: string | undefined,
  from: {
    readonly realFile: string
    readonly env: Readonly<Record<string, string | undefined>>
  },
): string {
  const { realFile, env } = from
  if (store !== undefined && store.startsWith('sqlite:')) {
    return resolve(dirname(realFile), store.slice('sqlite:'.length))
  }
  const home = env['HOME'] ?? env['USERPROFILE'] ?? homedir()
  const key = createHash('sha256').update(realFile).digest('hex').slice(0, 16)
  return join(userStateDirectory(env, home), key, 'comity.db')
}
