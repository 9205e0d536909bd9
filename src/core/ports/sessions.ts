/** Sessions of callers, kept where a restart of the gateway finds them again. What one agreed on is its door's own text. */

export interface KeptSession {
  readonly id: string
  /** Id of the principal that opened it: nobody else finds it. */
  readonly principal: string
  /** JSON text that only the door reads. */
  readonly terms: string
  /** Epoch milliseconds. */
  readonly lastUsedAt: number
}

export interface SessionStore {
  /** Every session, the one unused for longest first. */
  list(): Promise<readonly KeptSession[]>
  find(id: string): Promise<KeptSession | undefined>
  /**
   * Makes it, or replaces what it agreed on; durable when it resolves.
   *
   * @throws ComityError `store_unwritable`.
   */
  save(session: KeptSession): Promise<void>
  /** Notes that it was used; joins the next commit. */
  touch(id: string, lastUsedAt: number): void
  /** Durable when it resolves. Unknown ids are no fault. */
  remove(ids: readonly string[]): Promise<void>
}
