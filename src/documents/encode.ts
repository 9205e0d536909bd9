/**
 * Encode, the third of three layers: answers in the form of MCP.
 *
 * A tool's result says the same twice, structured and as JSON text, for callers that read only
 * one of them. Results are written as the 2026-07-28 revision has them; the door takes away what
 * older callers do not know.
 *
 * @source MCP 2026-07-28, server, tools and resources; basic, multi round-trip requests
 */
import type { Native } from '../core/words/native.ts'
import type { Outcome } from '../core/words/outcome.ts'
import { refused } from '../core/words/outcome.ts'
import { mcpNative } from '../mcp/downstream/visit.ts'
import type { DocumentsAnswer } from './call.ts'
import type { ReadOutput, SearchOutput, ToolName } from './contracts.ts'
import { LANGUAGE_KEY, LANGUAGES, TOOLS } from './contracts.ts'
import { encodeAnalysis, encodeAnalysisPart } from './encode-analysis.ts'
import { cite } from './cite.ts'
import type { Completion } from './complete.ts'
import type { Prompted } from './prompts.ts'
import type { Fault } from './decode.ts'
import type { Document } from './document.ts'

/** Name of the documents as a peer, in routes and handles. */
export const PEER = 'documents'
/** Key under which a refusal says its code. */
const REFUSAL_META = 'comity/refusal'
const REVISION = '2026-07-28'
const INVALID_PARAMS = -32_602

/** The outcome of a tool's call. @param requestId of the request that is answered. */
export function encodeAnswer(answer: DocumentsAnswer, requestId: string): Outcome {
  switch (answer.kind) {
    case 'found':
      return toolResult('search_documents', encodeFound(answer, requestId))
    case 'piece':
      return toolResult('read_document', encodePiece(answer, requestId))
    case 'report':
      return toolResult('export_report', { requestId, ...answer.report }, answer.report.report)
    case 'analysis':
      return toolResult('analyze_versions', encodeAnalysis(answer, requestId))
    case 'analysis_part':
      return toolResult('read_analysis', encodeAnalysisPart(answer, requestId))
    case 'question':
      return encodeQuestion(answer)
    case 'refused':
      return toolRefusal(answer.text, answer.code)
  }
}

/** The outcome of a call whose arguments are wrong. */
export function encodeFaults(tool: ToolName, faults: readonly Fault[]): Outcome {
  const lines = faults.map(({ path, expected }) => `${path}: ${expected}`)
  return toolRefusal(`bad arguments for ${tool}\n${lines.join('\n')}`, 'bad_arguments')
}

/**
 * The outcome of a prompt. Wrong arguments are an error of the request.
 *
 * @source MCP 2026-07-28, server, prompts, error handling
 */
export function encodePrompt(prompted: Prompted): Outcome {
  if (!('wrong' in prompted)) return completed({ ...prompted }, false)
  const error = { code: INVALID_PARAMS, message: prompted.wrong }
  return {
    state: 'failed',
    origin: 'validation',
    ran: 'no',
    code: 'bad_arguments',
    detail: prompted.wrong,
    native: native(error),
  }
}

/** The result of a completion. */
export function encodeCompletion(completion: Completion): Native {
  return native({ resultType: 'complete', completion })
}

/** The outcome of reading a document as a resource: of all but HTML its text is the bytes of the file. */
export function encodeResource(document: Document | undefined, uri: string): Outcome {
  if (document === undefined) {
    return refused('validation', 'unknown_capability', `resource not found: ${uri.slice(0, 500)}`)
  }
  const contents = [
    { uri, mimeType: document.mediaType, text: document.text, _meta: resourceMeta(document) },
  ]
  return completed({ contents, ttlMs: 0, cacheScope: 'private' }, false)
}

/** A document as resources/list shows it: plain JSON. */
export function resourceDefinition(document: Document): Readonly<Record<string, unknown>> {
  return {
    uri: document.uri,
    name: document.id,
    title: document.title,
    mimeType: document.mediaType,
    // What is read is what is counted: of HTML that is the text.
    size: document.format === 'html' ? Buffer.byteLength(document.text) : document.bytes,
    annotations: { lastModified: document.modifiedAt },
    _meta: resourceMeta(document),
  }
}

/** The one template: any document by its id. */
export function templateDefinition(): Readonly<Record<string, unknown>> {
  return {
    uriTemplate: 'docs://{+document}',
    name: 'document',
    title: 'A document',
    description:
      'A document by its id, its segments percent-encoded; the exact text of the file (of HTML: the text a person would read).',
  }
}

function resourceMeta(document: Document): Readonly<Record<string, unknown>> {
  const { version, digest, bytes, modifiedAt, lineStarts } = document
  const { readFrom } = cite(document)
  return {
    version,
    digest,
    ...(readFrom ? { readFrom } : {}),
    size: bytes,
    lines: lineStarts.length,
    lastModified: modifiedAt,
  }
}

function encodeFound(
  { query, retrieved }: Extract<DocumentsAnswer, { kind: 'found' }>,
  requestId: string,
): SearchOutput {
  return {
    requestId,
    query,
    hits: retrieved.hits.map(({ document, lines, text, score }) => ({
      ...cite(document),
      title: document.title,
      lines,
      text,
      score,
    })),
    truncated: retrieved.truncated,
  }
}

function encodePiece(
  { document, piece }: Extract<DocumentsAnswer, { kind: 'piece' }>,
  requestId: string,
): ReadOutput {
  return {
    requestId,
    ...cite(document),
    lines: piece.lines,
    totalLines: document.lineStarts.length,
    text: piece.text,
    truncated: piece.truncated,
  }
}

function encodeQuestion({
  document,
  state,
}: Extract<DocumentsAnswer, { kind: 'question' }>): Outcome {
  const text = `In which language should the report about ${document.id} be written? 报告用哪种语言？`
  const request = {
    method: 'elicitation/create',
    params: {
      mode: 'form',
      message: text,
      requestedSchema: {
        type: 'object',
        properties: {
          [LANGUAGE_KEY]: {
            type: 'string',
            title: 'Language 语言',
            description: 'zh: 中文, en: English',
            enum: LANGUAGES,
          },
        },
        required: [LANGUAGE_KEY],
      },
    },
  }
  return {
    state: 'input_required',
    handle: { peer: PEER, kind: 'mcp_state', sealed: state },
    questions: [{ kind: 'form', key: LANGUAGE_KEY, text, native: native(request) }],
  }
}

function toolResult(tool: ToolName, structuredContent: object, report?: string): Outcome {
  // What leaves keeps the promise of the output schema; a breach is our fault and is not sent.
  TOOLS[tool].output.parse(structuredContent)
  const content = [
    ...(report === undefined ? [] : [{ type: 'text', text: report }]),
    { type: 'text', text: JSON.stringify(structuredContent) },
  ]
  return completed({ content, structuredContent }, false)
}

function toolRefusal(text: string, code: string): Outcome {
  const result = {
    content: [{ type: 'text', text }],
    isError: true,
    _meta: { [REFUSAL_META]: { code } },
  }
  return completed(result, true)
}

function completed(result: Readonly<Record<string, unknown>>, toolError: boolean): Outcome {
  return { state: 'completed', native: native({ resultType: 'complete', ...result }), toolError }
}

function native(value: unknown): Native {
  return mcpNative(new TextEncoder().encode(JSON.stringify(value)), REVISION)
}
