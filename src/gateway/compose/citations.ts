/**
 * Finding citations in what an agent delivered. Pure.
 *
 * A citation is a JSON object with `document`, `lines`, `quote` and `digest`, anywhere in a JSON artifact or in a fenced JSON
 * block of a Markdown one. An artifact that says it is JSON and is not refuses itself.
 */
import { type Artifact, textOf } from '../../core/words/artifact.ts'

export interface Citation {
  readonly document: string
  readonly version?: string
  readonly lines: { readonly start: number; readonly end: number }
  readonly quote: string
  readonly digest: string
}

export interface Found {
  /** Each different citation once. */
  readonly citations: readonly { readonly citation: Citation; readonly where: string }[]
  /** Faults of the artifacts themselves. */
  readonly faults: readonly string[]
}

/** More than this in one delivery is not read further. */
export const MAX_CITATIONS = 20_000

const FENCED_JSON = /^```json[^\n]*\n([\s\S]*?)^```/gmu

export function findCitations(artifacts: readonly Artifact[]): Found {
  const found = new Map<string, { citation: Citation; where: string }>()
  const faults: string[] = []
  for (const artifact of artifacts) {
    const name = artifact.name ?? artifact.artifactId
    const text = textOf(artifact.content, decodeUtf8)
    if (text === undefined) continue
    for (const json of jsonTexts(artifact, text)) {
      try {
        collect(JSON.parse(json), name, found, faults)
      } catch (error) {
        faults.push(`${name}: not the JSON it says it is (${(error as Error).message})`)
      }
    }
  }
  if (found.size > MAX_CITATIONS)
    faults.push(`${found.size} citations, at most ${MAX_CITATIONS} are checked`)
  return { citations: [...found.values()].slice(0, MAX_CITATIONS), faults }
}

function jsonTexts(artifact: Artifact, text: string): readonly string[] {
  const type = (artifact.mediaType ?? '').split(';')[0] ?? ''
  if (type === 'application/json' || type.endsWith('+json')) return [text]
  if (type === 'text/markdown')
    return [...text.matchAll(FENCED_JSON)].map((block) => block[1] ?? '')
  return []
}

function collect(
  value: unknown,
  where: string,
  found: Map<string, { citation: Citation; where: string }>,
  faults: string[],
): void {
  const rest: unknown[] = [value]
  while (rest.length > 0) {
    const next = rest.pop()
    if (Array.isArray(next)) {
      for (const item of next) rest.push(item)
      continue
    }
    if (typeof next !== 'object' || next === null) continue
    const looks = 'quote' in next && 'document' in next
    const citation = looks ? parseCitation(next) : undefined
    if (looks && citation === undefined) {
      faults.push(
        `${where}: a citation without document, lines { start, end }, quote and digest: ${JSON.stringify(next).slice(0, 120)}`,
      )
    }
    if (citation !== undefined) found.set(JSON.stringify(citation), { citation, where })
    for (const member of Object.values(next)) rest.push(member)
  }
}

function parseCitation(value: object): Citation | undefined {
  const { document, version, lines, quote, digest } = value as Record<string, unknown>
  if (typeof document !== 'string' || typeof quote !== 'string' || typeof digest !== 'string')
    return undefined
  if (typeof lines !== 'object' || lines === null) return undefined
  const { start, end } = lines as Record<string, unknown>
  if (!Number.isInteger(start) || !Number.isInteger(end)) return undefined
  return {
    document,
    ...(typeof version === 'string' ? { version } : {}),
    lines: { start: start as number, end: end as number },
    quote,
    digest,
  }
}

function decodeUtf8(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
}
