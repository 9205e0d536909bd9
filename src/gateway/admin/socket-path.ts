/** Where the control socket of a store lies: a folder only its user can enter, a path short enough for every system. */
import { createHash } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { ComityError } from '../../core/words/errors.ts'

/** `sun_path` holds 104 bytes on macOS, the last a NUL. */
const MAX_PATH_BYTES = 103

/** What of the environment decides the place. */
export interface SocketPlace {
  readonly runtimeDirectory: string | undefined
  readonly temporaryDirectory: string
  readonly userId: number
}

/** @throws ComityError `config_invalid` when the path is too long for a socket. */
export function socketPath(storeFile: string, place: SocketPlace): string {
  const folder =
    place.runtimeDirectory === undefined
      ? join(place.temporaryDirectory, `comity-${place.userId}`)
      : join(place.runtimeDirectory, 'comity')
  const path = join(
    folder,
    `${createHash('sha256').update(storeFile).digest('hex').slice(0, 16)}.sock`,
  )
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) {
    throw new ComityError(
      'config_invalid',
      `the control socket's path is longer than ${MAX_PATH_BYTES} bytes: ${path}. Set XDG_RUNTIME_DIR to a shorter folder`,
    )
  }
  return path
}

/**
 * Makes the socket's folder, mode 0700, and checks that it is ours.
 *
 * @throws ComityError `not_allowed` when someone else owns it or it is a link.
 */
export function prepareSocketFolder(folder: string, userId: number): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const found = lstatSync(folder)
  if (!found.isDirectory() || found.uid !== userId) {
    throw new ComityError(
      'not_allowed',
      `${folder} must be a folder of this user, so that nobody else can stand in for the control socket`,
    )
  }
  chmodSync(folder, 0o700)
}
