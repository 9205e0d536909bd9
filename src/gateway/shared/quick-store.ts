/**
 * Which store a configuration names, told from its text without the parser: 50 ms and 10 MB that a thin process does without.
 *
 * Takes only what is plain. A wrong guess names a store that nobody serves, and the whole configuration is read then.
 */
import { readFileSync, realpathSync, statSync } from 'node:fs'
import { storeFile } from '../config/store-file.ts'

const MAX_CONFIG_BYTES = 1024 * 1024
const STORE_LINE = /^(?:store|"store"|'store')[ \t]*:[ \t]*(.*)$/gmu
const PLAIN = /^(?:"([^"\\]*)"|'([^']*)'|([\w./:@%+~-][\w./:@%+~ -]*?))[ \t]*(?:#.*)?$/u

/** What is known of a configuration without reading all of it. */
export interface QuickConfig {
  /** With links resolved, as the whole configuration says. */
  readonly file: string
  readonly store: string
}

/** @returns undefined when it takes the parser to tell, or there is nothing to read. */
export function quickStore(
  file: string,
  env: Readonly<Record<string, string | undefined>>,
): QuickConfig | undefined {
  try {
    const realFile = realpathSync(file)
    if (statSync(realFile).size > MAX_CONFIG_BYTES) return undefined
    const named = storeOf(readFileSync(realFile, 'utf8'))
    return named === undefined
      ? undefined
      : { file: realFile, store: storeFile(named.store, { realFile, env }) }
  } catch {
    return undefined
  }
}

function storeOf(text: string): { readonly store: string | undefined } | undefined {
  if (/^\s*\{/u.test(text)) {
    const value = JSON.parse(text) as { readonly store?: unknown }
    const { store } = value
    return store === undefined || typeof store === 'string' ? { store } : undefined
  }
  // Directives, documents, anchors, merges and complex keys at the edge may move a key anywhere.
  if (/^(?:%|---|\.\.\.|[?&*!<[]|["']?<<)/mu.test(text)) return undefined
  const found = [...text.matchAll(STORE_LINE)]
  if (found.length === 0) return { store: undefined }
  const value = PLAIN.exec((found[0]?.[1] ?? '').trim())
  if (found.length > 1 || value === null) return undefined
  return { store: value[1] ?? value[2] ?? value[3] }
}
