/**
 * What a thin pipe and the process that owns the store say to each other beside MCP.
 *
 * `GET /pipe` with `Upgrade: comity-pipe` on the control socket; after 101 each side speaks MCP's stdio wire. One notification
 * is ours, and never reaches a host: the owner is about to end, and answers what it has once the pipe's side is closed.
 */
import { encodeNotification } from '../../mcp/wire/json-rpc.ts'
import { encodeJson } from '../../mcp/wire/spans.ts'

export const PIPE_PATH = '/pipe'
export const PIPE_PROTOCOL = 'comity-pipe'
/** The configuration file that the pipe would use, percent-encoded. */
export const CONFIG_HEADER = 'x-comity-config'
/** Something for the log of whoever opened the pipe, percent-encoded. */
export const NOTE_HEADER = 'x-comity-note'
export const DRAIN_METHOD = 'notifications/comity/drain'

/**
 * Why an owner ends: another process takes the store over and will be there in a moment; somebody stopped it, and it is
 * started again only when it is needed.
 */
export type DrainReason = 'takeover' | 'stop'

/** The notice to one pipe. */
export function encodeDrain(reason: DrainReason): Uint8Array {
  return encodeNotification(DRAIN_METHOD, encodeJson({ reason }))
}

/** What an owner says instead of opening a pipe. */
export interface PipeRefusal {
  readonly code: string
  readonly message: string
  /** It may be otherwise in a moment: the owner begins, or is about to end. */
  readonly wait: boolean
}
