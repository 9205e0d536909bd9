/** The servers of a host's file, whatever its format: what they are, and the text with others in their place. */

/** One server as it stands in the file. */
export interface HostServer {
  readonly name: string
  readonly value: unknown
  /** Its text in the file, from which it can be put back. */
  readonly text: string
  /** Why it cannot be taken out of the file by itself. */
  readonly fixed?: string
}

export interface ServerChange {
  /** Names that go. */
  readonly remove: readonly string[]
  /** Names that come, each with its text in the file's format; one that is there already is replaced. */
  readonly put: readonly (readonly [string, string])[]
}

/** A list of servers that was read. */
export interface ServerList {
  readonly servers: readonly HostServer[]
  /** Servers elsewhere in the file, which only it can have, and why. */
  readonly elsewhere: readonly { readonly name: string; readonly reason: string }[]
  /** @returns the whole new text; what is not a server that goes is kept byte for byte. */
  replace(change: ServerChange): string
  /** How comity's own entry is written. */
  write(name: string, entry: Readonly<Record<string, unknown>>): string
}

/** What is wrong with a list of servers, without quoting it. */
export class ServerListFault extends Error {
  override readonly name = 'ServerListFault'
}
