/** `comity rollback`: everyone is served by the stable revision again from the next call on. */
import type { CommonOptions } from './main.ts'
import { decide } from './promote.ts'
import type { Terminal } from './terminal.ts'

export function rollback(
  options: CommonOptions,
  terminal: Terminal,
  peer: string,
): Promise<number> {
  return decide('rollback', options, terminal, peer)
}
