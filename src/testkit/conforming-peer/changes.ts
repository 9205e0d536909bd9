/**
 * What changes on the peer while it runs, and who hears of it.
 *
 * Lists and resources belong to the endpoint, not to a connection: a change made by one call is
 * told on every open subscription and session. Each transport says here how it tells.
 */

/** Tells one audience: a handler's subscriptions, a session, a stdio connection. */
export interface Audience {
  toolsChanged(): void
  promptsChanged(): void
  resourcesChanged(): void
  resourceUpdated(uri: string): void
}

/** The changing part of the peer. */
export interface Changes {
  /** Whether the tool, prompt and resource that come and go are there at present. */
  readonly extra: { tool: boolean; prompt: boolean; resource: boolean }
  /** How often the watched resource was changed. */
  watchedVersion: number
  /** Everyone who hears of it, at once. */
  readonly tell: Audience
  /** @returns takes the audience away again. */
  join(audience: Audience): () => void
}

/** Creates the state that every server of one endpoint shares. */
export function createChanges(): Changes {
  const audiences = new Set<Audience>()
  const each = (tell: (audience: Audience) => void): void => {
    for (const audience of audiences) tell(audience)
  }
  return {
    extra: { tool: false, prompt: false, resource: false },
    watchedVersion: 1,
    tell: {
      toolsChanged: () => each((audience) => audience.toolsChanged()),
      promptsChanged: () => each((audience) => audience.promptsChanged()),
      resourcesChanged: () => each((audience) => audience.resourcesChanged()),
      resourceUpdated: (uri) => each((audience) => audience.resourceUpdated(uri)),
    },
    join(audience) {
      audiences.add(audience)
      return () => audiences.delete(audience)
    },
  }
}
