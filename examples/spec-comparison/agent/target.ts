/**
 * The target's SDK range: parsed from an answer, and believed only when the manifest says so.
 *
 * The range decides which half of the report matters to the reader, so an answer without a source
 * that this agent can read itself is asked for again, never guessed.
 */
import { citeLines, quoteLines, type Citation, type Reading } from './citation.ts'
import type { Answer } from './brief.ts'
import type { Documents } from './documents.ts'
import type { Leg } from './requirement-list.ts'

/** The target with its range, as its own manifest declares it. */
export interface Target {
  readonly package: string
  readonly sdkRange: string
  /** The SDK package that the cited line names. */
  readonly dependency: string
  /** The side that is written with this SDK. */
  readonly leg: Leg
  readonly citation: Citation
}

/** The verdict on an answer; `doubtful` is said to the one who answered. */
export type TargetVerdict =
  | { readonly state: 'verified'; readonly target: Target }
  | { readonly state: 'doubtful'; readonly problem: string }

/** SDK packages, each with the side it is used for. `sdk` is the single package of version 1. */
const SDK_LEGS: Readonly<Record<string, Leg>> = {
  '@modelcontextprotocol/sdk': 'server',
  '@modelcontextprotocol/server': 'server',
  '@modelcontextprotocol/client': 'client',
}

/** Verifies an answer against the manifest it cites, or against the one this agent can find. */
export async function verifyAnswer(
  documents: Documents,
  packageName: string,
  answer: Answer,
): Promise<TargetVerdict> {
  return answer.citation === undefined
    ? verifyUncited(documents, packageName, answer.sdkRange)
    : verifyCited(documents, packageName, answer.sdkRange, answer.citation)
}

async function verifyCited(
  documents: Documents,
  packageName: string,
  sdkRange: string,
  citation: Citation,
): Promise<TargetVerdict> {
  const read = await documents.read(citation.document)
  if (read.state === 'refused') return doubt(`I cannot read ${citation.document}: ${read.problem}`)
  const reading = read.reading
  if (reading.digest !== citation.digest) {
    return doubt(`${citation.document} has the digest ${reading.digest}, not the one cited`)
  }
  if (quoteLines(reading, citation.lines) !== citation.quote) {
    return doubt(`lines ${spell(citation.lines)} of ${citation.document} do not read as quoted`)
  }
  if (!isManifestOf(reading, packageName)) {
    return doubt(`${citation.document} is not the manifest of ${packageName}`)
  }
  const { start, end } = citation.lines
  const found = findDeclarations(reading).find(
    ({ line, range }) => line >= start && line <= end && range === sdkRange,
  )
  if (found === undefined) {
    return doubt(`lines ${spell(citation.lines)} declare no MCP SDK with the range ${sdkRange}`)
  }
  return accept(reading, packageName, found, citation.lines)
}

async function verifyUncited(
  documents: Documents,
  packageName: string,
  sdkRange: string,
): Promise<TargetVerdict> {
  for (const document of await findManifests(documents, packageName)) {
    const read = await documents.read(document)
    if (read.state === 'refused' || !isManifestOf(read.reading, packageName)) continue
    const declarations = findDeclarations(read.reading)
    const found = declarations.find(({ range }) => range === sdkRange)
    if (found !== undefined) {
      return accept(read.reading, packageName, found, { start: found.line, end: found.line })
    }
    const other = declarations[0]
    if (other !== undefined) {
      return doubt(
        `line ${other.line} of ${document} declares ${other.dependency} ${other.range}, not ${sdkRange}`,
      )
    }
  }
  return doubt(`I can find no manifest of ${packageName} that declares ${sdkRange}; please cite it`)
}

/** Where a manifest would be: under the folder of the package's name, else where search finds one. */
async function findManifests(documents: Documents, packageName: string): Promise<string[]> {
  const folder = packageName.slice(packageName.lastIndexOf('/') + 1)
  const hits = await documents.search(`${packageName} package.json`, 10)
  const found = hits.filter((document) => /(?:^|\/)package\.json$/.test(document))
  return [...new Set([`${folder}/package.json`, ...found])]
}

interface Declaration {
  readonly line: number
  readonly dependency: string
  readonly range: string
}

/** The lines of `dependencies` that name an SDK. */
function findDeclarations(reading: Reading): Declaration[] {
  const lines = reading.text.split('\n')
  const declared = parseManifest(reading)?.dependencies ?? {}
  return Object.keys(SDK_LEGS).flatMap((dependency) => {
    const range = declared[dependency]
    if (typeof range !== 'string') return []
    const text = `${JSON.stringify(dependency)}: ${JSON.stringify(range)}`
    // A manifest may name it again under devDependencies; the pair under dependencies comes with
    // the parsed value, so any line that carries the same pair says the same.
    const index = lines.findIndex((line) => line.replaceAll(/\s*:\s*/g, ': ').includes(text))
    return index < 0 ? [] : [{ line: index + 1, dependency, range }]
  })
}

function isManifestOf(reading: Reading, packageName: string): boolean {
  return parseManifest(reading)?.name === packageName
}

function parseManifest(
  reading: Reading,
):
  | { readonly name?: unknown; readonly dependencies?: Readonly<Record<string, unknown>> }
  | undefined {
  try {
    const value: unknown = JSON.parse(reading.text)
    if (typeof value !== 'object' || value === null) return undefined
    const { name, dependencies } = value as Record<string, unknown>
    return typeof dependencies === 'object' && dependencies !== null
      ? { name, dependencies: dependencies as Record<string, unknown> }
      : { name }
  } catch {
    return undefined
  }
}

function accept(
  reading: Reading,
  packageName: string,
  found: Declaration,
  lines: Citation['lines'],
): TargetVerdict {
  const leg = SDK_LEGS[found.dependency] ?? 'server'
  const { dependency, range } = found
  const citation = citeLines(reading, lines)
  return {
    state: 'verified',
    target: { package: packageName, sdkRange: range, dependency, leg, citation },
  }
}

function doubt(problem: string): TargetVerdict {
  return { state: 'doubtful', problem }
}

function spell({ start, end }: Citation['lines']): string {
  return start === end ? String(start) : `${start} to ${end}`
}
