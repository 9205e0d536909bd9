/**
 * Links in results: URIs that a peer showed this caller, so that the caller may read them there later.
 *
 * A cheap bounded look at content blocks, made after the result is known to be sound; it changes nothing.
 */
import {
  findMember,
  readString,
  scanArray,
  scanObject,
  type Member,
  type Span,
} from '../wire/spans.ts'

const MAX_LINKS = 1000
const MAX_URI = 8192
const MARK = Buffer.from('"uri"')
const NONE: readonly string[] = []

/** URIs of `resource_link` and embedded `resource` blocks in a tool's or prompt's result; empty when there are none. */
export function linkedUris(result: Uint8Array): readonly string[] {
  if (Buffer.prototype.indexOf.call(result, MARK) < 0) return NONE
  const members = membersOf(result)
  const blocks = [
    ...itemsOf(result, findMember(members, 'content')),
    ...itemsOf(result, findMember(members, 'messages')).flatMap((message) => {
      const content = findMember(membersOf(result, message), 'content')
      if (content?.type === 'object') return [content.value]
      return itemsOf(result, content)
    }),
  ]
  const uris = new Set<string>()
  for (const block of blocks) {
    if (uris.size >= MAX_LINKS) break
    const uri = uriOf(result, block)
    if (uri !== undefined && uri.length > 0 && uri.length <= MAX_URI) uris.add(uri)
  }
  return [...uris]
}

function uriOf(result: Uint8Array, block: Span): string | undefined {
  const members = membersOf(result, block)
  const type = textOf(result, findMember(members, 'type'))
  if (type === 'resource_link') return textOf(result, findMember(members, 'uri'))
  if (type !== 'resource') return undefined
  const resource = findMember(members, 'resource')
  return resource?.type === 'object'
    ? textOf(result, findMember(membersOf(result, resource.value), 'uri'))
    : undefined
}

function membersOf(bytes: Uint8Array, at?: Span): readonly Member[] {
  return scanObject(bytes, at, { validated: true, allowDuplicates: true })
}

function itemsOf(bytes: Uint8Array, member: Member | undefined): readonly Span[] {
  if (member?.type !== 'array') return []
  return scanArray(bytes, member.value, { validated: true })
    .filter((item) => item.type === 'object')
    .slice(0, MAX_LINKS)
}

function textOf(bytes: Uint8Array, member: Member | undefined): string | undefined {
  return member?.type === 'string' ? readString(bytes, member.value) : undefined
}
