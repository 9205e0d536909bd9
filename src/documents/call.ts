/**
 * Call, the second of three layers: the functions that may be called, for one principal. Knows no
 * wire form; what it gives back is encoded elsewhere.
 */
import type { AnalysisHandles } from './analysis-handle.ts'
import type { VersionAnalysis } from './analysis.ts'
import { analyzeVersions } from './analysis.ts'
import type { AnalyzeInput, ReadAnalysisInput, ReportOutput } from './contracts.ts'
import type { DocumentsRequest, LanguageAnswer } from './decode.ts'
import type { Document } from './document.ts'
import type { ExportStates } from './export-state.ts'
import type { Documents } from './open-documents.ts'
import type { Piece } from './read-lines.ts'
import { readLines } from './read-lines.ts'
import { createReport } from './report.ts'
import type { Retrieved } from './retrieve.ts'

/** Why nothing is given. */
export type RefusalCode =
  | 'bad_arguments'
  | 'unknown_document'
  | 'version_differs'
  | 'language_missing'
  | 'declined'
  | 'state_refused'
  | 'analysis_refused'
  | 'too_large'

/** What the functions give. */
export type DocumentsAnswer =
  | { readonly kind: 'found'; readonly query: string; readonly retrieved: Retrieved }
  | { readonly kind: 'piece'; readonly document: Document; readonly piece: Piece }
  | { readonly kind: 'report'; readonly report: Omit<ReportOutput, 'requestId'> }
  /** The language is to be asked for; `state` comes back with the answer. */
  | { readonly kind: 'question'; readonly document: Document; readonly state: string }
  | ({ readonly kind: 'analysis'; readonly id: string; readonly expiresAt: number } & Compared)
  | ({ readonly kind: 'analysis_part'; readonly input: ReadAnalysisInput } & Compared)
  | { readonly kind: 'refused'; readonly code: RefusalCode; readonly text: string }

/** Two versions and what became of one in the other. */
export interface Compared {
  readonly from: Document
  readonly to: Document
  readonly analysis: VersionAnalysis
}

/** The one who calls, and whether and what they can be asked. */
export interface CallerOfDocuments {
  readonly principal: string
  readonly canBeAsked: boolean
  /** What they answered to the question of an earlier round. */
  readonly answer?: LanguageAnswer
}

/** Does what was asked. */
export type CallDocuments = (
  request: DocumentsRequest,
  caller: CallerOfDocuments,
) => Promise<DocumentsAnswer>

/** The functions over these documents. */
export function createCallDocuments(
  documents: Documents,
  states: ExportStates,
  handles: AnalysisHandles,
): CallDocuments {
  return async (request, caller) => {
    switch (request.kind) {
      case 'search': {
        const { query, limit } = request.input
        const retrieved = await documents.retrieve(query, limit, caller.principal)
        return { kind: 'found', query, retrieved }
      }
      case 'read': {
        const { document: id, version, lines } = request.input
        const document = await documents.find(id, caller.principal)
        if (document === undefined) return unknownDocument(id)
        if (version !== undefined && version !== document.version) {
          return versionDiffers(version, document)
        }
        const piece = readLines(document, lines)
        return 'path' in piece
          ? refuse('bad_arguments', `${piece.path}: ${piece.expected}`)
          : { kind: 'piece', document, piece }
      }
      case 'report': {
        const { document: id, language } = request.input
        const document = await documents.find(id, caller.principal)
        if (document === undefined) return unknownDocument(id)
        if (language !== undefined)
          return { kind: 'report', report: createReport(document, language) }
        return askLanguage(document, caller, states)
      }
      case 'analyze':
        return analyze(documents, handles, request.input, caller.principal)
      case 'read_analysis':
        return readAnalysis(documents, handles, request.input, caller.principal)
    }
  }
}

/** The same words whether a document does not exist or may not be seen. */
function unknownDocument(id: string, argument = 'document'): DocumentsAnswer {
  return refuse(
    'unknown_document',
    `${argument}: there is no document ${JSON.stringify(id)} that you may read; search_documents and resources/list show those that there are`,
  )
}

function askLanguage(
  document: Document,
  caller: CallerOfDocuments,
  states: ExportStates,
): DocumentsAnswer {
  const binding = { principal: caller.principal, document: document.id }
  let round = 1
  if (caller.answer !== undefined) {
    const { state, said } = caller.answer
    const redeemed = states.redeem(state, binding)
    if ('refused' in redeemed) {
      const advice = 'call export_report again without it'
      return refuse('state_refused', `${redeemed.refused}; ${advice}`)
    }
    if (said === 'declined') {
      return refuse('declined', 'no report was made: the question for its language was declined')
    }
    if (said !== 'missing') return { kind: 'report', report: createReport(document, said) }
    round = redeemed.round + 1
  }
  const state = caller.canBeAsked ? states.issue(binding, round) : undefined
  if (state !== undefined) return { kind: 'question', document, state }
  return refuse(
    'language_missing',
    'language: expected "zh" or "en"; it was not given, and you cannot be asked for it. Call export_report again with language.',
  )
}

async function analyze(
  documents: Documents,
  handles: AnalysisHandles,
  input: AnalyzeInput,
  principal: string,
): Promise<DocumentsAnswer> {
  const from = await documents.find(input.from.document, principal)
  if (from === undefined) return unknownDocument(input.from.document, 'from.document')
  const to = await documents.find(input.to.document, principal)
  if (to === undefined) return unknownDocument(input.to.document, 'to.document')
  for (const [{ version }, document] of [
    [input.from, from],
    [input.to, to],
  ] as const) {
    if (version !== undefined && version !== document.version) {
      return versionDiffers(version, document)
    }
  }
  const analysis = analyzeVersions(from, to)
  if ('tooLarge' in analysis) return refuse('too_large', analysis.tooLarge)
  const { id, expiresAt } = handles.issue(principal, {
    from: { document: from.id, digest: from.digest },
    to: { document: to.id, digest: to.digest },
  })
  return { kind: 'analysis', id, expiresAt, from, to, analysis }
}

async function readAnalysis(
  documents: Documents,
  handles: AnalysisHandles,
  input: ReadAnalysisInput,
  principal: string,
): Promise<DocumentsAnswer> {
  const advice = 'call analyze_versions again'
  const analysed = handles.open(input.analysis_id, principal)
  if ('refused' in analysed) return refuse('analysis_refused', `${analysed.refused}; ${advice}`)
  const from = await documents.find(analysed.from.document, principal)
  if (from === undefined) return unknownDocument(analysed.from.document, 'analysis_id')
  const to = await documents.find(analysed.to.document, principal)
  if (to === undefined) return unknownDocument(analysed.to.document, 'analysis_id')
  const changed = [
    ...(from.digest === analysed.from.digest ? [] : [from.id]),
    ...(to.digest === analysed.to.digest ? [] : [to.id]),
  ]
  if (changed.length > 0) {
    return refuse(
      'version_differs',
      `analysis_id: ${changed.join(' and ')} changed since the analysis; ${advice}`,
    )
  }
  const analysis = analyzeVersions(from, to)
  if ('tooLarge' in analysis) return refuse('too_large', analysis.tooLarge)
  const total = analysis.changes.length
  if (input.start > Math.max(total, 1)) {
    return refuse(
      'bad_arguments',
      `start: expected at most ${total}, the number of changes, got ${input.start}`,
    )
  }
  return { kind: 'analysis_part', input, from, to, analysis }
}

function versionDiffers(wanted: string, { id, version, digest }: Document): DocumentsAnswer {
  return refuse(
    'version_differs',
    `version: ${id} has version ${JSON.stringify(version)} now (${digest}), not ${JSON.stringify(wanted)}; only the present version can be read`,
  )
}

function refuse(code: RefusalCode, text: string): DocumentsAnswer {
  return { kind: 'refused', code, text }
}
