/** Encodes analyses of versions: how much of one is shown in an answer, and where it is cut. */
import type { DocumentsAnswer } from './call.ts'
import { cite } from './cite.ts'
import type { AnalyzeOutput, ReadAnalysisOutput } from './contracts.ts'
import {
  MAX_ANALYSIS_CHARACTERS,
  MAX_CHANGES_SHOWN,
  MAX_HEADINGS_SHOWN,
  MAX_SIDE_CHARACTERS,
} from './contracts.ts'
import type { Document } from './document.ts'
import type { LineRange } from './lines.ts'
import { textOfLines } from './lines.ts'
import { cutText } from './retrieve.ts'

/** The summary of an analysis, with the places of the first changes. */
export function encodeAnalysis(
  { id, expiresAt, from, to, analysis }: Extract<DocumentsAnswer, { kind: 'analysis' }>,
  requestId: string,
): AnalyzeOutput {
  const { changes, addedHeadings, removedHeadings, addedLines, removedLines, sameLines } = analysis
  const shown = changes.slice(0, MAX_CHANGES_SHOWN)
  return {
    requestId,
    analysis_id: id,
    expiresAt: new Date(expiresAt).toISOString(),
    from: citeCompared(from),
    to: citeCompared(to),
    totalChanges: changes.length,
    addedLines,
    removedLines,
    sameLines,
    addedHeadings: addedHeadings.slice(0, MAX_HEADINGS_SHOWN),
    removedHeadings: removedHeadings.slice(0, MAX_HEADINGS_SHOWN),
    changes: shown.map((change, index) => ({ change: index + 1, ...change })),
    truncated:
      changes.length > shown.length ||
      addedHeadings.length > MAX_HEADINGS_SHOWN ||
      removedHeadings.length > MAX_HEADINGS_SHOWN,
  }
}

/** Changes with their texts; at least one, then as many as fit. */
export function encodeAnalysisPart(
  { input, from, to, analysis }: Extract<DocumentsAnswer, { kind: 'analysis_part' }>,
  requestId: string,
): ReadAnalysisOutput {
  const shown: ReadAnalysisOutput['changes'] = []
  let characters = 0
  const wanted = analysis.changes.slice(input.start - 1, input.start - 1 + input.limit)
  for (const [index, change] of wanted.entries()) {
    const before = sideOf(from, change.from)
    const after = sideOf(to, change.to)
    characters += before.text.length + after.text.length
    if (shown.length > 0 && characters > MAX_ANALYSIS_CHARACTERS) break
    shown.push({
      change: input.start + index,
      kind: change.kind,
      ...(change.heading === undefined ? {} : { heading: change.heading }),
      from: { lines: change.from, text: before.text },
      to: { lines: change.to, text: after.text },
      cut: before.isCut || after.isCut,
    })
  }
  const next = input.start + shown.length
  return {
    requestId,
    analysis_id: input.analysis_id,
    from: citeCompared(from),
    to: citeCompared(to),
    totalChanges: analysis.changes.length,
    changes: shown,
    ...(next <= analysis.changes.length ? { next } : {}),
  }
}

function citeCompared(document: Document): AnalyzeOutput['from'] {
  return { ...cite(document), totalLines: document.lineStarts.length }
}

function sideOf(
  { text, lineStarts }: Document,
  lines: LineRange,
): { readonly text: string; readonly isCut: boolean } {
  const whole = textOfLines(text, lineStarts, lines)
  const cut = cutText(whole, MAX_SIDE_CHARACTERS)
  return { text: cut, isCut: cut.length < whole.length }
}
