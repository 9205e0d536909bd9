/**
 * Decode, the first of three layers: what a caller sent becomes a request that is known to be
 * well-formed, or the list of what is wrong with it. Looks at no document.
 */
import { z } from 'zod'
import type { Continuation } from '../core/words/call.ts'
import type {
  AnalyzeInput,
  Language,
  ReadAnalysisInput,
  ReadInput,
  ReportInput,
  SearchInput,
  ToolName,
} from './contracts.ts'
import { LANGUAGE_KEY, LANGUAGES, TOOLS } from './contracts.ts'

const LANGUAGE_CONTENT = z.object({ language: z.enum(LANGUAGES) })

/** Everything that can be asked of the documents. */
export type DocumentsRequest =
  | { readonly kind: 'search'; readonly input: SearchInput }
  | { readonly kind: 'read'; readonly input: ReadInput }
  | { readonly kind: 'report'; readonly input: ReportInput }
  | { readonly kind: 'analyze'; readonly input: AnalyzeInput }
  | { readonly kind: 'read_analysis'; readonly input: ReadAnalysisInput }

/** One thing that is wrong with arguments. */
export interface Fault {
  /** Like `lines.start`; `arguments` for the whole. */
  readonly path: string
  /** What was expected there, and what came. */
  readonly expected: string
}

/** Parses a tool's arguments. */
export function decodeArguments(
  tool: ToolName,
  args: unknown,
): DocumentsRequest | { readonly kind: 'faults'; readonly faults: readonly Fault[] } {
  switch (tool) {
    case 'search_documents': {
      const parsed = TOOLS[tool].input.safeParse(args)
      return parsed.success ? { kind: 'search', input: parsed.data } : faultsOf(parsed.error)
    }
    case 'read_document': {
      const parsed = TOOLS[tool].input.safeParse(args)
      return parsed.success ? { kind: 'read', input: parsed.data } : faultsOf(parsed.error)
    }
    case 'export_report': {
      const parsed = TOOLS[tool].input.safeParse(args)
      return parsed.success ? { kind: 'report', input: parsed.data } : faultsOf(parsed.error)
    }
    case 'analyze_versions': {
      const parsed = TOOLS[tool].input.safeParse(args)
      return parsed.success ? { kind: 'analyze', input: parsed.data } : faultsOf(parsed.error)
    }
    case 'read_analysis': {
      const parsed = TOOLS[tool].input.safeParse(args)
      return parsed.success ? { kind: 'read_analysis', input: parsed.data } : faultsOf(parsed.error)
    }
  }
}

/** What came back to the question for a language. */
export interface LanguageAnswer {
  /** The sealed state, as it came. */
  readonly state: string
  /** `missing` when there was no answer, or none that names a language. */
  readonly said: Language | 'declined' | 'missing'
}

/** Reads the answer to the question for a language; undefined when the call continues nothing. */
export function decodeLanguageAnswer(
  continuation: Continuation | undefined,
): LanguageAnswer | undefined {
  if (continuation === undefined) return undefined
  const state = continuation.handle.sealed
  const answer = continuation.answers.find(({ key }) => key === LANGUAGE_KEY)
  if (answer === undefined) return { state, said: 'missing' }
  if (answer.action !== 'accept') return { state, said: 'declined' }
  const parsed = LANGUAGE_CONTENT.safeParse(answer.data)
  return { state, said: parsed.success ? parsed.data.language : 'missing' }
}

/** The document that a URI names, or undefined when it is no URI of ours. */
export function decodeUri(uri: string): string | undefined {
  if (!uri.startsWith('docs://')) return undefined
  try {
    const segments = uri.slice('docs://'.length).split('/').map(decodeURIComponent)
    // An encoded slash would give one document a second address, past a rule on the first.
    return segments.some((segment) => segment.includes('/')) ? undefined : segments.join('/')
  } catch {
    return undefined
  }
}

function faultsOf(error: z.ZodError): { readonly kind: 'faults'; readonly faults: Fault[] } {
  return {
    kind: 'faults',
    faults: error.issues.map((issue) => ({
      path: issue.path.length === 0 ? 'arguments' : issue.path.map(String).join('.'),
      expected: issue.message,
    })),
  }
}
