/**
 * The documents server as a program: what `comity docs` runs, over stdio or HTTP.
 *
 * Reads no environment and prints nothing itself; the command line passes in what it may use.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import type { Readable, Writable } from 'node:stream'
import { ComityError } from '../core/words/errors.ts'
import type { DoorOptions, DoorPorts } from '../mcp/downstream/options.ts'
import { serveStdio } from '../mcp/downstream/stdio.ts'
import { createAnalysisHandles } from './analysis-handle.ts'
import { createCallDocuments } from './call.ts'
import { createExportStates } from './export-state.ts'
import type { Documents } from './open-documents.ts'
import { openDocuments } from './open-documents.ts'
import { createDocumentsCatalogue, createDocumentsDispatch } from './ports.ts'
import { ANONYMOUS } from './readers.ts'
import { serveHttp } from './serve-http.ts'
import { openStateKey } from './state-key.ts'

/** Requests are small; a larger message is a mistake or an attack. */
const MAX_MESSAGE_BYTES = 1_048_576
/** Of what is left out, so many are told one by one. */
const MAX_NOTICES = 50

/** What to serve, and to whom. */
export interface ServeDocumentsOptions {
  /** At least one; relative to the working directory. */
  readonly folders: readonly string[]
  /** Who the caller on stdio is. Default `anonymous`. Not for HTTP, where tokens tell it. */
  readonly as?: string
  /** Serve HTTP on loopback instead of stdio; port 0 takes a free one. */
  readonly http?: { readonly port: number }
  /**
   * File of the key under which ids of analyses outlive this process; made when it is not there.
   * Default: a key of this process only.
   */
  readonly keyFile?: string
  /** Our version, told to callers. */
  readonly version: string
}

/** What the server may use of its process. */
export interface ServeDocumentsDependencies {
  readonly lookupEnvironment: (name: string) => string | undefined
  /** Only protocol is written to `output`; both are untouched when serving HTTP. */
  readonly input: Readable
  readonly output: Writable
  /** Takes one line for people, best on standard error. */
  readonly log: (line: string) => void
}

/** A running server. */
export interface ServedDocuments {
  /** Where it is reached over HTTP. */
  readonly url?: string
  /** Resolves when the caller on stdio went away, or after `close`. */
  readonly done: Promise<void>
  /** Lets running requests answer, then stops. May be called twice. */
  close(): Promise<void>
}

/**
 * Opens the folders and serves them; over HTTP `log` gets one line with the URL.
 *
 * @throws ComityError `config_invalid` or `usage` with everything that is to be mended.
 */
export async function serveDocuments(
  options: ServeDocumentsOptions,
  dependencies: ServeDocumentsDependencies,
): Promise<ServedDocuments> {
  if (options.http !== undefined && options.as !== undefined) {
    throw new ComityError(
      'usage',
      '--as names the caller on stdio; over HTTP callers are told by the tokens of comity-docs.yaml',
    )
  }
  const { log, lookupEnvironment } = dependencies
  const documents = await openDocuments(options.folders, {
    lookupEnvironment,
    now: () => performance.now(),
    notify: log,
  })
  sayNotices(documents, log)
  try {
    return options.http === undefined
      ? serveOverStdio(options, dependencies, documents)
      : await serveOverHttp(options, options.http.port, dependencies, documents)
  } catch (error) {
    documents.close()
    throw error
  }
}

function serveOverStdio(
  options: ServeDocumentsOptions,
  { input, output, log }: ServeDocumentsDependencies,
  documents: Documents,
): ServedDocuments {
  const door = serveStdio(doorPorts(documents, options, log), {
    ...doorOptions(options.version, log),
    principal: { id: options.as ?? ANONYMOUS, groups: [], via: 'local' },
    input,
    output,
  })
  const done = door.done.finally(() => documents.close())
  return {
    done,
    close() {
      door.close()
      return done
    },
  }
}

async function serveOverHttp(
  options: ServeDocumentsOptions,
  port: number,
  { log }: ServeDocumentsDependencies,
  documents: Documents,
): Promise<ServedDocuments> {
  const serving = await serveHttp(
    doorPorts(documents, options, log),
    doorOptions(options.version, log),
    documents,
    port,
  )
  log(`comity docs ready on ${serving.url}`)
  const { promise: done, resolve } = Promise.withResolvers<void>()
  let closing: Promise<void> | undefined
  return {
    url: serving.url,
    done,
    close() {
      closing ??= serving.close().finally(() => {
        documents.close()
        resolve()
      })
      return closing
    },
  }
}

function doorPorts(
  documents: Documents,
  { keyFile }: ServeDocumentsOptions,
  log: (line: string) => void,
): DoorPorts {
  const handles = createAnalysisHandles(openStateKey(keyFile, log), () => Date.now())
  const states = createExportStates({
    key: randomBytes(32),
    now: () => Date.now(),
    createNonce: randomUUID,
  })
  return {
    catalogue: createDocumentsCatalogue(documents),
    dispatch: createDocumentsDispatch(
      documents,
      createCallDocuments(documents, states, handles),
      randomUUID,
    ),
  }
}

function doorOptions(version: string, log: (line: string) => void): DoorOptions {
  return {
    serverInfo: { name: 'comity-docs', title: 'comity documents', version },
    sealingKey: randomBytes(32),
    clock: { now: () => Date.now() },
    offers: ['tools', 'resources', 'prompts', 'completions'],
    limits: { maxMessageBytes: MAX_MESSAGE_BYTES },
    report: (fault) => log(`internal error: ${fault instanceof Error ? fault.message : 'unknown'}`),
  }
}

function sayNotices(documents: Documents, log: (line: string) => void): void {
  const notices = documents.notices()
  for (const notice of notices.slice(0, MAX_NOTICES)) log(notice)
  if (notices.length > MAX_NOTICES) log(`and ${notices.length - MAX_NOTICES} more like these`)
}
