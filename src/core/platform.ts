// Core has no platform types. The little of AbortSignal that it names; elsewhere this merges with the real one.
declare global {
  interface AbortSignal {
    readonly aborted: boolean
  }
}
export {}
