/** Which configuration file a command uses. Loads nothing else: a thin process starts with it. */
import { homedir } from 'node:os'
import { findConfig } from '../gateway/config/find-config.ts'

/** @param flag what `-c` says. @throws ComityError `config_invalid` when there is none. */
export function configFileOf(flag: string | undefined): string {
  const place = { env: process.env, cwd: process.cwd(), home: homedir() }
  return findConfig({ ...(flag === undefined ? {} : { flag }), ...place })
}
