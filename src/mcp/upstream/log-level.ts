/**
 * The log level of one session: the lowest that any open call wants, told to the server when that
 * changes. What a caller gets of the logs is filtered at its door.
 *
 * @source MCP 2025-11-25, server, logging; 2026-07-28 has the level on each request instead.
 */

/** Least severe first. @source RFC 5424 */
const LEVELS = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
] as const

export interface LogLevel {
  /**
   * A call begins that wants logs from this level on.
   *
   * @param wanted anything else than a level wants none, and tells the server nothing.
   * @returns resolves when the server was told, or would not hear; and the call's end.
   */
  want(wanted: string): { readonly told: Promise<void>; end(): void }
}

/** Makes the keeper of one session's level. @param tell sends `logging/setLevel`; may reject. */
export function createLogLevel(tell: (level: string) => Promise<void>): LogLevel {
  const wanted: number[] = []
  let level: number | undefined
  let telling = Promise.resolve()
  return {
    want(text) {
      const mine = LEVELS.findIndex((one) => one === text)
      if (mine === -1) return { told: Promise.resolve(), end: () => undefined }
      wanted.push(mine)
      const lowest = Math.min(...wanted)
      const name = LEVELS[lowest]
      if (lowest !== level && name !== undefined) {
        level = lowest
        // A server that will not change its level still runs the call.
        telling = telling.then(() => tell(name)).catch(() => undefined)
      }
      return { told: telling, end: () => void wanted.splice(wanted.indexOf(mine), 1) }
    },
  }
}
