/** Names of hosts' servers as names of peers: taken as they are where they can be, else cleaned, and never shared. */
import { PEER_NAME } from '../config/schema.ts'

const RESERVED = new Set(['delegate', 'task', 'comity'])
const MAX_LENGTH = 40

/** @param taken names in use; @param suffix put behind when the name is in use, such as the host's. */
export function peerNameFor(name: string, taken: ReadonlySet<string>, suffix: string): string {
  const cleaned = name
    .normalize('NFKD')
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .replace(/-+$/, '')
    .slice(0, MAX_LENGTH)
  const base = PEER_NAME.test(cleaned) ? cleaned : 'server'
  // Secrets' files carry these names, and some file systems know no case.
  const inUse = new Set([...taken].map((used) => used.toLowerCase()))
  const fits = (candidate: string): boolean =>
    !inUse.has(candidate.toLowerCase()) && !RESERVED.has(candidate)
  if (fits(base)) return base
  for (let number = 1; ; number++) {
    const end = number === 1 ? `-${suffix}` : `-${suffix}-${number}`
    const candidate = `${base.slice(0, MAX_LENGTH - end.length)}${end}`
    if (fits(candidate)) return candidate
  }
}
