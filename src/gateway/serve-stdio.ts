/** The gateway's stdio edge: one pipe, one principal, everything behind it. */
import type { Readable, Writable } from 'node:stream'
import { type StdioDoor, serveStdio } from '../mcp/downstream/stdio.ts'
import { LOCAL } from '../core/words/principal.ts'
import type { Host } from './compose/host.ts'

/** Serves the pipe until its input ends. Nothing but protocol is written to `output`. */
export function serveHostOverStdio(host: Host, input: Readable, output: Writable): StdioDoor {
  return serveStdio(host.doorPorts, { ...host.doorOptions, principal: LOCAL, input, output })
}
