/**
 * What kind of network an IP address belongs to. Whether one may be dialled is decided in guarded-fetch.ts.
 *
 * @source RFC 6890 and the IANA special-purpose address registries; RFC 6598; RFC 4193; RFC 4291.
 */
import { BlockList, isIP } from 'node:net'

/** `special` is all that no peer has a business with: metadata services, multicast, documentation, unspecified. */
export type AddressClass = 'public' | 'loopback' | 'private' | 'special'

const LOOPBACK = ['127.0.0.0/8', '::1/128'] as const
/** Networks of one organisation or one provider. */
const PRIVATE = [
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  'fc00::/7',
] as const
const SPECIAL = [
  '0.0.0.0/8',
  '169.254.0.0/16',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
  // Metadata services that lie in networks of their own.
  '100.100.100.200/32',
  '168.63.129.16/32',
  'fd00:ec2::254/128',
  '::/128',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '3fff::/20',
  '5f00::/16',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
] as const
/** IPv6 networks in which an IPv4 address is spelled: it counts as that one. */
const EMBEDDING = [
  { prefix: '::ffff:0:0/96', at: 6 },
  { prefix: '::/96', at: 6 },
  { prefix: '::ffff:0:0:0/96', at: 6 },
  { prefix: '64:ff9b::/96', at: 6 },
  { prefix: '2002::/16', at: 1 },
] as const

let lists: Readonly<Record<'special' | 'loopback' | 'private', BlockList>> | undefined
let embeddings: readonly { readonly list: BlockList; readonly at: number }[] | undefined

/** @param address an IP literal without brackets or zone; anything else is `special`. */
export function classifyAddress(address: string): AddressClass {
  const family = isIP(address)
  if (family === 0 || address.includes('%')) return 'special'
  const kind = family === 4 ? 'ipv4' : 'ipv6'
  lists ??= {
    special: listOf(SPECIAL),
    loopback: listOf(LOOPBACK),
    private: listOf(PRIVATE),
  }
  // A block list judges IPv4-mapped addresses by its IPv4 rules too; both ways agree.
  if (lists.special.check(address, kind)) return 'special'
  if (lists.loopback.check(address, kind)) return 'loopback'
  if (lists.private.check(address, kind)) return 'private'
  if (family === 4) return 'public'
  embeddings ??= EMBEDDING.map(({ prefix, at }) => ({ list: listOf([prefix]), at }))
  const embedding = embeddings.find(({ list }) => list.check(address, 'ipv6'))
  return embedding === undefined ? 'public' : classifyAddress(embeddedIn(address, embedding.at))
}

function listOf(prefixes: readonly string[]): BlockList {
  const list = new BlockList()
  for (const prefix of prefixes) {
    const [network = '', bits] = prefix.split('/')
    list.addSubnet(network, Number(bits), network.includes(':') ? 'ipv6' : 'ipv4')
  }
  return list
}

/** The IPv4 address in the two groups from `at` on. */
function embeddedIn(address: string, at: number): string {
  // The URL parser spells every IPv6 address in one way, without dotted parts.
  const spelled = new URL(`http://[${address}]/`).hostname.slice(1, -1)
  const [head = '', tail = ''] = spelled.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === '' ? [] : tail.split(':')
  const zeros = spelled.includes('::') ? 8 - before.length - after.length : 0
  const groups = [...before, ...Array<string>(zeros).fill('0'), ...after]
  const high = Number.parseInt(groups[at] ?? '0', 16)
  const low = Number.parseInt(groups[at + 1] ?? '0', 16)
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
}
