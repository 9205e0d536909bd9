/** What a probe found out, as it is told: facts of the server, faults by rule, and what model APIs will say. Plain data. */
import type { RuleId, Severity } from './rules.ts'

/** How the server was spoken to. */
export type ProbedTransport = 'stdio' | 'http' | 'http+sse'

/** One revision that was tried in one way. */
export interface RevisionTried {
  readonly revision: string
  readonly transport: ProbedTransport
  /** The request that was answered or not. */
  readonly by: 'server/discover' | 'initialize'
  readonly spoken: boolean
  /** What came, where it is not spoken. */
  readonly detail?: string
}

/** Who the server says it is. */
export interface CallsItself {
  readonly name?: string
  readonly version?: string
  readonly title?: string
  /** Characters of its instructions to models. */
  readonly instructions?: number
}

/** One list, read to its end or to a bound. */
export interface ListRead {
  readonly method: string
  readonly revision: string
  readonly items: number
  readonly pages: number
  /** Why it was not read to its end, or not at all. */
  readonly incomplete?: string
  /** First names, for a look. */
  readonly names: readonly string[]
}

/** One fault, with everything that is to be told of it. */
export interface Finding {
  readonly rule: RuleId
  readonly severity: Severity
  readonly section: string
  readonly broken: string
  readonly wayOut: string
  /** Where: a tool, a method, a revision. */
  readonly place?: string
  /** What came. The server's words, cut. */
  readonly saw?: string
}

/** An authorization server, as its metadata has it. */
export interface AuthServerFacts {
  readonly issuer: string
  readonly found: boolean
  /** Ways in which a client can become known. */
  readonly registration: readonly ('client ID metadata document' | 'dynamic' | 'by hand')[]
  readonly grants: readonly string[]
  readonly pkce: readonly string[]
  readonly sendsIssuer: boolean
}

/** What is to be known about logging in, learned without doing it. */
export interface AuthFacts {
  /** It answered 401. */
  readonly wanted: boolean
  readonly challenges: readonly {
    readonly scheme: string
    readonly scope?: string
    readonly resourceMetadata?: string
  }[]
  readonly metadata?: {
    readonly url: string
    readonly resource: string
    readonly servers: readonly string[]
    readonly scopes: readonly string[]
  }
  readonly servers: readonly AuthServerFacts[]
  /** Places that had nothing, and what was there. */
  readonly tried: readonly { readonly url: string; readonly what: string }[]
  readonly faults: readonly { readonly rule: RuleId; readonly saw: string }[]
}

/** What one model API says of one tool. */
export interface ModelVerdict {
  readonly api: string
  readonly tool: string
  readonly reasons: readonly ModelReason[]
}

export interface ModelReason {
  /** JSON pointer into inputSchema; `name` for the name. */
  readonly at: string
  readonly why: string
}

/** How many tools an API takes as they are. */
export interface ModelSummary {
  readonly api: string
  readonly title: string
  /** The API's own documentation. */
  readonly source: string
  readonly takes: number
  readonly refuses: number
}

export interface ProbeReport {
  readonly target: {
    readonly transport: 'stdio' | 'http'
    /** Address or command line, without what may be secret in it. */
    readonly at: string
    readonly peer?: string
  }
  readonly reached: boolean
  /** Why not. */
  readonly unreachable?: string
  readonly revisions: readonly RevisionTried[]
  readonly callsItself: CallsItself
  readonly capabilities: Readonly<Record<string, unknown>>
  readonly extensions: Readonly<Record<string, unknown>>
  readonly auth?: AuthFacts
  readonly lists: readonly ListRead[]
  readonly findings: readonly Finding[]
  /** Findings beyond the bound of each rule, by rule. */
  readonly more: Readonly<Record<string, number>>
  readonly models: {
    readonly summary: readonly ModelSummary[]
    readonly verdicts: readonly ModelVerdict[]
  }
  /** What was not looked at, and why. */
  readonly skipped: readonly string[]
  readonly tookMs: number
}
