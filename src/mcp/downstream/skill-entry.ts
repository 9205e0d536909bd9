/**
 * One skill entry under the addresses of this side: its own and all its files' are replaced together or not at all.
 *
 * @source Skills extension (SEP-2640), skill entries: a manifest is complete
 */
import {
  encodeJson,
  findMember,
  readString,
  scanArray,
  scanObject,
  setMembers,
  sliceOf,
  type Item,
} from '../wire/spans.ts'
import { checkStrict } from '../wire/strict.ts'
import { arrayOf } from './lists.ts'

/** The addresses for a caller, in order; undefined in place of one that it may not see. */
export type Expose = (uris: readonly string[]) => readonly (string | undefined)[]

/**
 * @returns undefined for what is no skill entry, or not one for this caller.
 * @throws JsonFault for an entry of which readers may disagree.
 */
export function exposeEntry(entry: Uint8Array, expose: Expose): Uint8Array | undefined {
  checkStrict(entry)
  const uri = uriOf(entry)
  const resources = findMember(scanObject(entry), 'resources')
  if (uri === undefined || resources === undefined) return undefined
  const files = resources.type === 'array' ? scanArray(entry, resources.value) : undefined
  if (files === undefined && resources.type !== 'string') return undefined
  const own = (files ?? []).map((file) => fileOf(entry, file))
  const uris = own.map((file) => file?.uri)
  if (!uris.every((one) => one !== undefined)) return undefined
  const [exposed, ...exposedFiles] = expose([uri, ...uris])
  // A manifest with a gap would be another skill's: one file that is hidden hides it all.
  if (exposed === undefined || exposedFiles.includes(undefined)) return undefined
  const changed = own.flatMap((file, index) =>
    file === undefined
      ? []
      : [setMembers(file.bytes, undefined, { uri: encodeJson(exposedFiles[index]) })],
  )
  return setMembers(entry, undefined, {
    uri: encodeJson(exposed),
    ...(files === undefined ? {} : { resources: arrayOf(changed) }),
  })
}

/** One resource of a directory; undefined when it has no address or this caller may not see it. */
export function exposeResource(resource: Uint8Array, expose: Expose): Uint8Array | undefined {
  const uri = uriOf(resource)
  const [exposed] = uri === undefined ? [] : expose([uri])
  return exposed === undefined
    ? undefined
    : setMembers(resource, undefined, { uri: encodeJson(exposed) })
}

function fileOf(entry: Uint8Array, file: Item): { uri: string; bytes: Uint8Array } | undefined {
  if (file.type !== 'object') return undefined
  const bytes = sliceOf(entry, file)
  const uri = uriOf(bytes)
  return uri === undefined ? undefined : { uri, bytes }
}

function uriOf(bytes: Uint8Array): string | undefined {
  const member = findMember(scanObject(bytes), 'uri')
  return member?.type === 'string' ? readString(bytes, member.value) : undefined
}
