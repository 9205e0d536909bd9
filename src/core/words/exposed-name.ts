/**
 * Exposed names: `<peer>_<name>`, at most 64 of `[A-Za-z0-9_-]`, injective.
 *
 * Whether a hash suffix is needed follows from the configured peer names and the capability's own name alone, never from
 * what is connected, so a name means the same tomorrow. `<a>_<b>` belongs to the longest configured peer name; every other
 * reading, and every cleaned, shortened or suffix-looking name, carries `_` and 8 hex digits over (peer, name).
 */

const MAX_EXPOSED_NAME = 64
/** Names no peer may have: our own tools stand under them. */
export const RESERVED_PEER_NAMES: readonly string[] = ['delegate', 'task', 'comity']

const SUFFIX_LENGTH = 9
const LOOKS_SUFFIXED = /_[0-9a-f]{8}$/

/** Hex SHA-256 of a text's UTF-8 bytes. */
export type TextDigest = (text: string) => string

/**
 * The model-visible name of one capability.
 *
 * @param peers every configured peer name, reserved names need not be among them.
 */
export function exposedName(
  peer: string,
  name: string,
  peers: readonly string[],
  digest: TextDigest,
): string {
  const plain = `${peer}_${name}`
  const cleaned = plain.replace(/[^A-Za-z0-9_-]/gu, '_')
  const clean = cleaned === plain && name.length > 0
  if (
    clean &&
    plain.length <= MAX_EXPOSED_NAME &&
    !LOOKS_SUFFIXED.test(plain) &&
    ownerOf(plain, peers) === peer
  ) {
    return plain
  }
  const suffix = digest(`${peer}\u0000${name}`).slice(0, SUFFIX_LENGTH - 1)
  return `${cleaned.slice(0, MAX_EXPOSED_NAME - SUFFIX_LENGTH)}_${suffix}`
}

/** The longest configured (or reserved) peer name that `exposed` can be read as starting with. */
function ownerOf(exposed: string, peers: readonly string[]): string | undefined {
  let owner: string | undefined
  for (const peer of [...peers, ...RESERVED_PEER_NAMES]) {
    const reads = exposed.length > peer.length + 1 && exposed.startsWith(`${peer}_`)
    if (reads && (owner === undefined || peer.length > owner.length)) owner = peer
  }
  return owner
}

/** The address of a resource whose own URI another peer already keeps. */
export function scopedUri(peer: string, uri: string): string {
  return `comity://${peer}/${encodeURIComponent(uri)}`
}

/** As `scopedUri`, for a template: what a caller fills in stays open. */
export function scopedTemplate(peer: string, template: string): string {
  const parts = template.split(/(\{[^{}]*\})/u)
  const escaped = parts.map((part, index) => (index % 2 === 1 ? part : encodeURIComponent(part)))
  return `comity://${peer}/${escaped.join('')}`
}

/**
 * As `scopedUri`, with the path left a path: what lies beside it is reached from it, and its last segment stays its last.
 * The scheme becomes the first segment.
 */
export function scopedTree(peer: string, uri: string): string {
  const found = HIERARCHICAL.exec(uri)
  if (found === null) return scopedUri(peer, uri)
  const path = (found[2] ?? '').split('/').map(encodeURIComponent).join('/')
  return `comity://${peer}/${found[1]}%3A/${path}`
}

const HIERARCHICAL = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/(.+)$/su
const SCOPED_TREE = /^comity:\/\/([^/?#]+)\/([A-Za-z][A-Za-z0-9+.-]*)%3A\/([^?#]+)$/u

/** The peer and its own URI behind a scoped address; undefined for every other URI. */
export function parseScopedUri(
  uri: string,
): { readonly peer: string; readonly uri: string } | undefined {
  const tree = SCOPED_TREE.exec(uri)
  const found = tree ?? /^comity:\/\/([^/?#]+)\/([^/?#]+)$/u.exec(uri)
  if (found === null) return undefined
  try {
    const own = decodeURIComponent((tree === null ? found[2] : found[3]) ?? '')
    return { peer: found[1] ?? '', uri: tree === null ? own : `${found[2]}://${own}` }
  } catch {
    return undefined
  }
}
