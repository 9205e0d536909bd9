/**
 * The head file: position and hash of the newest acknowledged entry, beside the store.
 *
 * Written after each commit, without a barrier: it may lag behind after a power cut, it never runs ahead. So a store that
 * ends before it has lost acknowledged entries (a cut tail, a damaged write-ahead log, an older copy put back).
 */
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'

import { ComityError } from '../core/words/errors.ts'
import type { ChainHead } from './commands.ts'

const FORM = /^ *(\d+) ([0-9a-f]{64})\n$/
const SEQ_WIDTH = 16

/** Where the head of a store is kept. */
export function headFileOf(file: string): string {
  return `${file}.head`
}

/** @returns undefined when none was ever written. @throws ComityError `store_corrupt` when it cannot be read as one. */
export function readHead(file: string): ChainHead | undefined {
  const text = readText(headFileOf(file))
  // A new file's first bytes can be missing after a power cut.
  if (text === undefined || /^\0*$/.test(text)) return undefined
  const match = FORM.exec(text)
  if (match === null) {
    throw new ComityError(
      'store_corrupt',
      `${headFileOf(file)} is damaged: restore it with its store, or delete it to accept the store as it is`,
    )
  }
  return { seq: Number(match[1]), hash: match[2] ?? '' }
}

/** Keeps the head of one open store. */
export class HeadFile {
  readonly #descriptor: number

  constructor(file: string) {
    this.#descriptor = openSync(headFileOf(file), 'a', 0o600)
    closeSync(this.#descriptor)
    // Not 'a': appending descriptors ignore positions.
    this.#descriptor = openSync(headFileOf(file), 'r+')
  }

  write(head: ChainHead): void {
    writeSync(this.#descriptor, `${String(head.seq).padStart(SEQ_WIDTH)} ${head.hash}\n`, 0)
  }

  close(): void {
    fsyncSync(this.#descriptor)
    closeSync(this.#descriptor)
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw new ComityError('store_corrupt', `${path} cannot be read`, { cause: error })
  }
}
