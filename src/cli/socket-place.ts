/** Where control sockets lie on this machine. Loads nothing else: a thin process starts with it. */
import { tmpdir } from 'node:os'
import type { SocketPlace } from '../gateway/admin/socket-path.ts'

export function socketPlace(): SocketPlace {
  return {
    runtimeDirectory: process.env['XDG_RUNTIME_DIR'],
    temporaryDirectory: tmpdir(),
    userId: process.getuid?.() ?? 0,
  }
}
