/** The revisions and transports of the tables, and what a revision has no words for. */

export type Revision = '2026-07-28' | '2025-11-25' | '2025-06-18' | '2025-03-26' | '2024-11-05'
export type Transport = 'http' | 'stdio' | 'http+sse'

/** One end of a pair: a caller or a peer. */
export interface End {
  readonly revision: Revision
  readonly transport: Transport
}

const SESSIONS = ['2025-11-25', '2025-06-18', '2025-03-26'] as const

/** Every kind of caller that is served. */
export const CALLERS: readonly End[] = ['2026-07-28' as const, ...SESSIONS].flatMap((revision) => [
  { revision, transport: 'http' as const },
  { revision, transport: 'stdio' as const },
])

/** Every kind of peer that can be used. */
export const PEERS: readonly End[] = [
  ...CALLERS,
  { revision: '2024-11-05', transport: 'stdio' },
  { revision: '2024-11-05', transport: 'http+sse' },
]

export function nameOf({ revision, transport }: End): string {
  return `${revision} ${transport}`
}

export function isModern(revision: Revision): boolean {
  return revision === '2026-07-28'
}

/** Questions that a revision has words for, newest meaning of each. @source the changelogs of the revisions */
const SINCE = {
  form: '2025-06-18',
  url: '2025-11-25',
  sampling: '2024-11-05',
  roots: '2024-11-05',
} as const satisfies Record<string, Revision>

export type Asked = keyof typeof SINCE

/** Dates compare as text. */
export function hasQuestion(revision: Revision, kind: Asked): boolean {
  return revision >= SINCE[kind]
}
