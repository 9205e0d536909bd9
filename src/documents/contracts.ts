/**
 * Contracts: what each tool takes and gives, and how it presents itself.
 *
 * The one place of it: the decoder parses with these schemas, callers get them as JSON Schema, and
 * the encoder's types are derived from them.
 */
import { z } from 'zod'

/** Limits of one answer. */
export const MAX_QUERY_CHARACTERS = 1_000
export const MAX_HITS = 50
export const MAX_READ_LINES = 2_000
export const MAX_READ_BYTES = 512 * 1_024
export const MAX_REPORT_HEADINGS = 500
export const MAX_CHANGES_SHOWN = 50
export const MAX_HEADINGS_SHOWN = 100
/** Of one side of one change, and of all in one answer, UTF-16 units. */
export const MAX_SIDE_CHARACTERS = 32_768
export const MAX_ANALYSIS_CHARACTERS = 262_144

/** Languages of a report. */
export const LANGUAGES = ['zh', 'en'] as const
export type Language = (typeof LANGUAGES)[number]
/** Key of the question for it, and of the field in its form. */
export const LANGUAGE_KEY = 'language'

const DOCUMENT = z.string().min(1).max(4_096).describe('Document id, as search_documents gives it')
const LINES = z
  .object({
    start: z.int().min(1).describe('First line, counted from 1'),
    end: z.int().min(0).describe('Last line, included; below start when there is none'),
  })
  .describe('The lines that the text consists of')
const CITED = {
  document: z.string().describe('Document id'),
  version: z.string().describe('Declared version, else 12 hex digits of the SHA-256'),
  digest: z.string().describe("sha256: and the SHA-256 of the file's bytes, hex"),
  uri: z.string().describe('The same document as a resource'),
  readFrom: z
    .literal('text/html')
    .optional()
    .describe('The lines are of the text read from HTML; the digest is of the file'),
}
const REQUEST_ID = z.string().describe('Id of the request that this answers')

const search = {
  input: z.strictObject({
    query: z
      .string()
      .min(1)
      .max(MAX_QUERY_CHARACTERS)
      .describe('Words to find, in Chinese, Japanese or English'),
    limit: z.int().min(1).max(MAX_HITS).default(10).describe('At most so many hits'),
  }),
  output: z.object({
    requestId: REQUEST_ID,
    query: z.string(),
    hits: z.array(
      z.object({
        ...CITED,
        title: z.string(),
        lines: LINES,
        text: z.string().describe('Exactly these lines of the document, joined by "\\n"'),
        score: z.number().describe('Higher is better, within this answer only'),
      }),
    ),
    truncated: z.boolean().describe('There are more hits, or a text was cut'),
  }),
}

const read = {
  input: z.strictObject({
    document: DOCUMENT,
    version: z
      .string()
      .max(200)
      .optional()
      .describe('Refused when the document has another version now'),
    lines: z
      .strictObject({
        start: z.int().min(1).describe('First line, counted from 1'),
        end: z.int().min(1).optional().describe('Last line, included; by default the last one'),
      })
      .optional()
      .describe('By default all'),
  }),
  output: z.object({
    requestId: REQUEST_ID,
    ...CITED,
    lines: LINES,
    totalLines: z.int().min(0),
    text: z.string().describe('Exactly these lines of the document, joined by "\\n"'),
    truncated: z.boolean().describe('Cut at the limit; read on from the line after lines.end'),
  }),
}

const report = {
  input: z.strictObject({
    document: DOCUMENT,
    language: z.enum(LANGUAGES).optional().describe('Language of the report; asked for if absent'),
  }),
  output: z.object({
    requestId: REQUEST_ID,
    ...CITED,
    title: z.string(),
    language: z.enum(LANGUAGES),
    totalLines: z.int().min(0),
    blankLines: z.int().min(0),
    headings: z.array(z.object({ line: z.int().min(1), level: z.int().min(1), text: z.string() })),
    report: z.string().describe('The report, Markdown'),
    truncated: z.boolean().describe('There are more headings'),
  }),
}

const SIDE = z
  .strictObject({
    document: DOCUMENT,
    version: z.string().max(200).optional().describe('Refused when it has another version now'),
  })
  .describe('One version: a document of its own')
const ANALYSIS_ID = z.string().min(1).max(8_192)
const COMPARED = z.object({ ...CITED, totalLines: z.int().min(0) })
const CHANGE = {
  change: z.int().min(1).describe('Number of the change, in the order of the lines'),
  kind: z.enum(['added', 'removed', 'changed']),
  heading: z.string().optional().describe('The heading above it'),
}

const analyze = {
  input: z.strictObject({ from: SIDE, to: SIDE }),
  output: z.object({
    requestId: REQUEST_ID,
    analysis_id: z.string().describe('For read_analysis, by you alone'),
    expiresAt: z.string().describe('Until when the id is good'),
    from: COMPARED,
    to: COMPARED,
    totalChanges: z.int().min(0),
    addedLines: z.int().min(0),
    removedLines: z.int().min(0),
    sameLines: z.int().min(0),
    addedHeadings: z.array(z.string()),
    removedHeadings: z.array(z.string()),
    changes: z.array(z.object({ ...CHANGE, from: LINES, to: LINES })).describe('The first ones'),
    truncated: z.boolean().describe('There are more changes, or more headings'),
  }),
}

const CHANGED_SIDE = z.object({ lines: LINES, text: z.string() })
const readAnalysis = {
  input: z.strictObject({
    analysis_id: ANALYSIS_ID.describe('As analyze_versions gave it to you'),
    start: z.int().min(1).default(1).describe('First change, counted from 1'),
    limit: z.int().min(1).max(MAX_CHANGES_SHOWN).default(10).describe('At most so many changes'),
  }),
  output: z.object({
    requestId: REQUEST_ID,
    analysis_id: z.string(),
    from: COMPARED,
    to: COMPARED,
    totalChanges: z.int().min(0),
    changes: z.array(
      z.object({
        ...CHANGE,
        from: CHANGED_SIDE,
        to: CHANGED_SIDE,
        cut: z.boolean().describe('A text was cut; read_document gives the rest'),
      }),
    ),
    next: z.int().min(1).optional().describe('Start of the next call, when there is more'),
  }),
}

export type SearchInput = z.output<typeof search.input>
export type ReadInput = z.output<typeof read.input>
export type ReportInput = z.output<typeof report.input>
export type AnalyzeInput = z.output<typeof analyze.input>
export type ReadAnalysisInput = z.output<typeof readAnalysis.input>
export type AnalyzeOutput = z.output<typeof analyze.output>
export type ReadAnalysisOutput = z.output<typeof readAnalysis.output>
export type SearchOutput = z.output<typeof search.output>
export type ReadOutput = z.output<typeof read.output>
export type ReportOutput = z.output<typeof report.output>

/** The tools by name. */
export const TOOLS = {
  search_documents: {
    ...search,
    title: 'Search documents',
    description:
      'Finds passages in the documents you may read. Each hit names its document, version, exact ' +
      'lines and digest, so that it can be cited and checked. No hit is an empty list.',
  },
  read_document: {
    ...read,
    title: 'Read a document',
    description:
      `Reads a document, or a range of its lines, as the exact text of the file (of HTML: the text a ` +
      `person would read). At most ` +
      `${MAX_READ_LINES} lines or ${MAX_READ_BYTES / 1_024} KiB a call; lines says what came.`,
  },
  export_report: {
    ...report,
    title: 'Export a report',
    description:
      'Makes a short report about a document (version, digest, size, headings with their lines) ' +
      'in Chinese (zh) or English (en). Asks for the language when it is not given.',
  },
  analyze_versions: {
    ...analyze,
    title: 'Analyze versions',
    description:
      'Compares two versions of a document, each a document of its own: counts, headings and the ' +
      'places of the first changes. Gives an analysis_id, with which read_analysis shows the changes.',
  },
  read_analysis: {
    ...readAnalysis,
    title: 'Read an analysis',
    description:
      'Shows changes of an analysis with the lines of both sides. The analysis_id is yours alone, ' +
      'good for a day, and as long as both documents stay as they were.',
  },
} as const

export type ToolName = keyof typeof TOOLS

/** Every name of a tool, in the order in which they are listed. */
export const TOOL_NAMES = [
  'search_documents',
  'read_document',
  'export_report',
  'analyze_versions',
  'read_analysis',
] as const

/** A tool's definition as MCP lists it: plain JSON. */
export function toolDefinition(name: ToolName): Readonly<Record<string, unknown>> {
  const { title, description, input, output } = TOOLS[name]
  return {
    name,
    title,
    description,
    inputSchema: z.toJSONSchema(input, { io: 'input' }),
    outputSchema: z.toJSONSchema(output, { io: 'output' }),
    annotations: { title, readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  }
}
