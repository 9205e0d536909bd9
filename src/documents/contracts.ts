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
        text: z.string().describe('Exactly these lines of the file, joined by "\\n"'),
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
    text: z.string().describe('Exactly these lines of the file, joined by "\\n"'),
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

export type SearchInput = z.output<typeof search.input>
export type ReadInput = z.output<typeof read.input>
export type ReportInput = z.output<typeof report.input>
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
      `Reads a document, or a range of its lines, as the exact text of the file. At most ` +
      `${MAX_READ_LINES} lines or ${MAX_READ_BYTES / 1_024} KiB a call; lines says what came.`,
  },
  export_report: {
    ...report,
    title: 'Export a report',
    description:
      'Makes a short report about a document (version, digest, size, headings with their lines) ' +
      'in Chinese (zh) or English (en). Asks for the language when it is not given.',
  },
} as const

export type ToolName = keyof typeof TOOLS

/** Every name of a tool, in the order in which they are listed. */
export const TOOL_NAMES = ['search_documents', 'read_document', 'export_report'] as const

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
