/**
 * Documents, read through comity: every search and every read is a call on its record.
 */
import type { Live, Operator } from 'comity'

/** One document, whole, as the documents server gave it. */
export interface Reading {
  readonly document: string
  readonly version: string
  /** `sha256:` and the hex digest of the whole file. */
  readonly digest: string
  readonly text: string
}

/** The source of a statement, as the delegation's two sides write it. */
export interface Citation {
  readonly document: string
  readonly version: string
  readonly lines: { readonly start: number; readonly end: number }
  readonly quote: string
  readonly digest: string
}

/** Finds a document by words and takes the best hit whose id ends as expected. @throws Error when there is none. */
export async function findDocument(
  operator: Operator,
  query: string,
  ending: string,
): Promise<string> {
  const { hits } = await callTool<{ readonly hits: readonly { readonly document: string }[] }>(
    operator,
    'docs/search_documents',
    { query, limit: 50 },
  )
  const found = hits.find(({ document }) => document.endsWith(ending))
  if (found === undefined) throw new Error(`no document ${ending} is found under "${query}"`)
  return found.document
}

/** Reads a document whole. @throws Error when it is not there or too long for one answer. */
export async function readDocument(operator: Operator, document: string): Promise<Reading> {
  const read = await callTool<Reading & { readonly truncated: boolean }>(
    operator,
    'docs/read_document',
    { document },
  )
  if (read.truncated) throw new Error(`${document} is too long for one answer`)
  const { version, digest, text } = read
  return { document, version, digest, text }
}

/** A citation of one line. */
export function citeLine({ document, version, digest, text }: Reading, line: number): Citation {
  const quote = text.split('\n')[line - 1] ?? ''
  return { document, version, lines: { start: line, end: line }, quote, digest }
}

/** For verbs whose events nobody needs. */
export const QUIET: Live = { signal: new AbortController().signal, event: () => undefined }

async function callTool<T>(operator: Operator, target: string, args: object): Promise<T> {
  const { outcome, resultText } = await operator.call(
    { target, argumentsText: JSON.stringify(args), timeoutMs: 30_000 },
    QUIET,
  )
  if (outcome.state !== 'completed' || outcome.toolError === true || resultText === undefined) {
    throw new Error(`${target}: ${outcome.detail ?? resultText ?? outcome.state}`)
  }
  return (JSON.parse(resultText) as { readonly structuredContent: T }).structuredContent
}
