/** Files that hold arguments, approvals and pins are this user's alone; SQLite gives its side files the same mode. */
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'

import { ComityError } from '../core/words/errors.ts'

/** Creates an empty file of mode 0600, and its folder, when they are not there. @throws ComityError `store_unwritable`. */
export function createPrivately(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    closeSync(openSync(path, 'a', 0o600))
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error)
    throw new ComityError(
      'store_unwritable',
      `${path} cannot be written (${words}): make its folder writable, or name another store`,
      { cause: error },
    )
  }
}
