/** Which config file is used: `-c`, else COMITY_CONFIG, else ./comity.yaml, else the user's config directory. */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { ComityError } from '../../core/words/errors.ts'

export interface FindConfigFrom {
  /** What `-c` says. */
  readonly flag?: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly home: string
}

/** Where a user's config lies when no folder has its own; macOS too. */
export function userConfigFile(
  env: Readonly<Record<string, string | undefined>>,
  home: string,
): string {
  const base = absolute(env['XDG_CONFIG_HOME']) ?? join(home, '.config')
  return join(base, 'comity', 'comity.yaml')
}

/** Where stores lie when the config names none; macOS too. */
export function userStateDirectory(
  env: Readonly<Record<string, string | undefined>>,
  home: string,
): string {
  return join(absolute(env['XDG_STATE_HOME']) ?? join(home, '.local', 'state'), 'comity')
}

/**
 * Finds the config file.
 *
 * @returns an absolute path to something that exists.
 * @throws ComityError `config_invalid` when there is none, with a way to begin.
 */
export function findConfig({ flag, env, cwd, home }: FindConfigFrom): string {
  const fromEnv = env['COMITY_CONFIG']
  const named =
    flag !== undefined
      ? { by: '-c', file: resolve(cwd, flag) }
      : fromEnv !== undefined && fromEnv !== ''
        ? { by: 'COMITY_CONFIG', file: resolve(cwd, fromEnv) }
        : undefined
  if (named !== undefined) {
    if (existsSync(named.file)) return named.file
    throw new ComityError(
      'config_invalid',
      `there is no config file at ${named.file}, which ${named.by} names. ${HOW_TO_BEGIN}`,
    )
  }
  const places = [join(cwd, 'comity.yaml'), userConfigFile(env, home)]
  const found = places.find((file) => existsSync(file))
  if (found !== undefined) return found
  throw new ComityError(
    'config_invalid',
    `there is no config file: looked for ${places.join(' and ')}. ${HOW_TO_BEGIN}`,
  )
}

const HOW_TO_BEGIN = `\`comity import\` makes one from the servers of your hosts (Claude, Cursor, VS Code …); or write comity.yaml, for example:

  mcpServers:
    files:
      command: npx
      args: ["-y", "@modelcontextprotocol/server-filesystem", "."]
  policy: { preset: personal }
`

/** @source XDG Base Directory Specification: relative paths in these variables are to be ignored. */
function absolute(path: string | undefined): string | undefined {
  return path !== undefined && path.startsWith('/') ? path : undefined
}
