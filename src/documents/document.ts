/**
 * A document: one file's bytes as they were read, with what is needed to cite them.
 *
 * Everything here comes from one reading, so text, lines, version and digest always agree, also
 * when the file changes in the next moment. The text is the file's own; of HTML it is what a person
 * would read, and the lines are of that.
 */
import type { BigIntStats } from 'node:fs'
import { constants } from 'node:fs'
import { open, realpath } from 'node:fs/promises'
import { basename } from 'node:path'
import { findDeclarations } from './declarations.ts'
import type { Format, Header, Unreadable } from './header.ts'
import { headerOfMeta, parseHeader } from './header.ts'
import type { Outline, Outlined } from './headings.ts'
import { findHeadings } from './headings.ts'
import { readHtml } from './html-text.ts'
import { findLineStarts } from './lines.ts'
import type { Audience } from './readers.ts'
import { digestOf, versionOf } from './versions.ts'
import type { FoundFile } from './walk.ts'
import { stampOf } from './walk.ts'

/** Larger files are left out. */
export const MAX_FILE_BYTES = 16 * 1_048_576
/** Some file systems count whole seconds: a file this young may change again under the same stamp. */
const SETTLED_AFTER_MS = 2_000

/** One document as it stands. */
export interface Document {
  /** `<folder>/<relative path>`, with `/`. */
  readonly id: string
  readonly uri: string
  readonly title: string
  readonly version: string
  /** `sha256:` and 64 hex digits, of the file's bytes. */
  readonly digest: string
  readonly format: Format
  readonly mediaType: string
  /** Size of the file. */
  readonly bytes: number
  /** ISO string. */
  readonly modifiedAt: string
  readonly text: string
  /** Headings and beginnings of passages, of formats whose text alone does not show them. */
  readonly outline?: Outline
  /** Where each line begins; its length is the number of lines. */
  readonly lineStarts: Uint32Array
  readonly audience: Audience
}

/** What one reading of a file gave. */
export interface Reading {
  readonly document: Omit<Document, 'audience'>
  /** The readers that the document names itself. */
  readonly readers: readonly string[] | undefined
  readonly stamp: string
  /** False when the file is so young that it may have changed without a new stamp. */
  readonly settled: boolean
}

const MEDIA_TYPES: Readonly<Record<Format, string>> = {
  markdown: 'text/markdown',
  text: 'text/plain',
  yaml: 'application/yaml',
  json: 'application/json',
  // What is served is the text read from it, not the HTML.
  html: 'text/plain',
  typescript: 'text/x-typescript',
}

/** The URI of a document: its id with every segment percent-encoded. */
export function documentUri(id: string): string {
  return `docs://${id.split('/').map(encodeURIComponent).join('/')}`
}

/** Reads a file as a document, or says why it is left out. */
export async function readDocument(
  id: string,
  found: FoundFile,
): Promise<Reading | { readonly reason: string }> {
  const read = await readBytes(found.file)
  if ('reason' in read) return read
  const { bytes, stats } = read
  const source = decodeText(bytes)
  if (source === undefined) return { reason: 'it is not valid UTF-8' }
  const content = readContent(found.format, source)
  if ('reason' in content) return content
  const { header, text, outline } = content
  const digest = digestOf(bytes)
  const lineStarts = findLineStarts(text)
  const outlined = { format: found.format, text, lineStarts, ...(outline ? { outline } : {}) }
  const document = {
    ...outlined,
    id,
    uri: documentUri(id),
    title: header.title ?? firstHeading(outlined) ?? basename(found.path),
    version: versionOf(header.version, digest),
    digest,
    mediaType: MEDIA_TYPES[found.format],
    bytes: bytes.byteLength,
    modifiedAt: stats.mtime.toISOString(),
  }
  const settled = isSettled(stats)
  return { document, readers: header.readers, stamp: stampOf(stats), settled }
}

function readContent(
  format: Format,
  source: string,
): { readonly header: Header; readonly text: string; readonly outline?: Outline } | Unreadable {
  if (format === 'html') {
    const html = readHtml(source)
    if ('reason' in html) return html
    const header = headerOfMeta(html.title, html.meta)
    if ('reason' in header) return header
    const { text, headings } = html
    return { header, text, outline: { headings, starts: headings.map(({ line }) => line) } }
  }
  const header = parseHeader(format, source)
  if ('reason' in header) return header
  if (format !== 'typescript') return { header, text: source }
  return { header, text: source, outline: findDeclarations(source) }
}

/** Whether a file is old enough that any further change shows in its stamp. */
export function isSettled(stats: BigIntStats): boolean {
  return Date.now() - Number(stats.mtimeMs) > SETTLED_AFTER_MS
}

async function readBytes(
  file: string,
): Promise<{ readonly bytes: Buffer; readonly stats: BigIntStats } | { readonly reason: string }> {
  // No link is followed any more and a pipe does not block: the path was resolved just before.
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
  const handle = await open(file, flags).catch(() => undefined)
  if (handle === undefined) return { reason: 'it cannot be read' }
  try {
    const stats = await handle.stat({ bigint: true })
    if (!stats.isFile()) return { reason: 'it is not a file' }
    if (stats.size > BigInt(MAX_FILE_BYTES)) {
      return { reason: `it has ${stats.size} bytes, at most ${MAX_FILE_BYTES} are served` }
    }
    const bytes = await handle.readFile()
    if (bytes.byteLength > MAX_FILE_BYTES) return { reason: 'it grew while it was read' }
    // A folder of the path may have been swapped for a link since the walk.
    if ((await realpath(file)) !== file) return { reason: 'a link took its place' }
    return { bytes, stats }
  } catch {
    return { reason: 'it cannot be read' }
  } finally {
    await handle.close()
  }
}

function decodeText(bytes: Uint8Array): string | undefined {
  try {
    // The byte order mark stays: the text must encode to the very bytes of the file.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function firstHeading(outlined: Outlined): string | undefined {
  if (outlined.format !== 'markdown' && outlined.format !== 'html') return undefined
  return findHeadings(outlined).find((heading) => heading.level === 1)?.text
}
