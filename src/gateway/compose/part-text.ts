/**
 * The text of what an agent delivered, as far as it can be read. Pure.
 *
 * What a part is called decides nothing but whether it must be JSON as a whole; what is in it is read whatever it is called.
 * What cannot be read as text is a fault, since anything could be in it.
 */
import type { Artifact, ArtifactPart } from '../../core/words/artifact.ts'

/** A piece of an artifact's text. */
export interface Piece {
  readonly text: string
  /** It says that it is JSON. */
  readonly isJson: boolean
}

/** The pieces of one artifact in their order, raw parts that follow each other as one: a chunk may end within a character. */
export function readPieces(artifact: Artifact): {
  readonly pieces: readonly Piece[]
  readonly faults: readonly string[]
} {
  const pieces: Piece[] = []
  const faults: string[] = []
  for (const run of runsOf(artifact.content)) {
    const read = readRun(run.parts)
    const where = artifact.content.length === 1 ? '' : `part ${run.first + 1}: `
    if ('fault' in read) faults.push(`${where}${read.fault}`)
    else pieces.push({ text: read.text, isJson: saysJson(run.parts[0], artifact) })
  }
  return { pieces, faults }
}

interface Run {
  readonly first: number
  readonly parts: readonly [ArtifactPart, ...ArtifactPart[]]
}

function runsOf(content: readonly ArtifactPart[]): readonly Run[] {
  const runs: { first: number; parts: [ArtifactPart, ...ArtifactPart[]] }[] = []
  content.forEach((part, index) => {
    const last = runs.at(-1)
    if (last !== undefined && continues(last.parts[0], part)) last.parts.push(part)
    else runs.push({ first: index, parts: [part] })
  })
  return runs
}

function continues(first: ArtifactPart, next: ArtifactPart): boolean {
  if (first.kind !== 'raw' || next.kind !== 'raw') return false
  return (next.mediaType ?? first.mediaType) === first.mediaType
}

function readRun(
  parts: readonly [ArtifactPart, ...ArtifactPart[]],
): { readonly text: string } | { readonly fault: string } {
  const [part] = parts
  switch (part.kind) {
    case 'text':
      return withoutPrograms(part.text)
    case 'data':
      return { text: part.json }
    case 'url':
      return cannot('a link, whose content is not here; deliver the content itself')
    case 'raw':
      return readBytes(
        part.mediaType ?? '',
        parts.flatMap((one) => (one.kind === 'raw' ? [one.bytes] : [])),
      )
  }
}

function readBytes(
  mediaType: string,
  chunks: readonly Uint8Array[],
): { readonly text: string } | { readonly fault: string } {
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(mediaType)?.[1] ?? 'utf-8'
  if (!/^(?:utf-?8|us-ascii|ascii)$/i.test(charset))
    return cannot(`in the character set ${JSON.stringify(charset.slice(0, 40))}; deliver UTF-8`)
  const text = decodeStrictly(chunks)
  if (text === undefined) return cannot('not UTF-8 text; deliver what is cited as text')
  // Text has tabs and line ends; other control characters are of UTF-16, of archives, of anything.
  for (const character of text) {
    const code = character.charCodeAt(0)
    if (code < 0x20 && (code < 0x09 || code > 0x0d))
      return cannot('binary (it has control characters); deliver what is cited as text')
  }
  return withoutPrograms(text)
}

/** A page description is text by its bytes and shows something else to whoever opens it. */
function withoutPrograms(text: string): { readonly text: string } | { readonly fault: string } {
  const found = /%PDF-|^\uFEFF?\s*(?:%!PS|\{\\rtf)/.exec(text.slice(0, 1_024))?.[0].trim()
  return found === undefined ? { text } : cannot(`a page description (${found}), not plain text`)
}

function cannot(why: string): { readonly fault: string } {
  return { fault: `cannot be searched for citations: it is ${why}` }
}

function decodeStrictly(chunks: readonly Uint8Array[]): string | undefined {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  try {
    const texts = chunks.map((bytes) => decoder.decode(bytes, { stream: true }))
    return [...texts, decoder.decode()].join('')
  } catch {
    return undefined
  }
}

function saysJson(part: ArtifactPart, artifact: Artifact): boolean {
  if (part.kind === 'data') return true
  const stated = part.mediaType ?? artifact.mediaType
  // Text without a type is recorded as text/plain: its name says more.
  if (stated === undefined || (part.mediaType === undefined && stated === 'text/plain'))
    return /\.json$/i.test(part.filename ?? artifact.name ?? '')
  const type = (stated.split(';')[0] ?? '').trim().toLowerCase()
  return type === 'application/json' || type === 'text/json' || type.endsWith('+json')
}
