/**
 * The checkpoints outside the database: `<file>.checkpoints`, one JSON line each, only ever appended to.
 *
 * Each line is on disk before it counts. A last line without its end was cut by a crash and was never a checkpoint.
 */
import {
  closeSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs'

import { ComityError } from '../core/words/errors.ts'
import { type Checkpoint, encodeCheckpoint, parseCheckpoint } from './checkpoint.ts'

/** Of a longer file only the end is read. */
const MAX_READ = 64 * 1_048_576
/** Holds many lines. */
const MAX_NEWEST = 65_536

export interface ReadCheckpoints {
  /** In the order of the file; undefined stands for a line that is none of ours. */
  readonly lines: readonly (Checkpoint | undefined)[]
  /** Older lines were not read. */
  readonly cut: boolean
}

/** Where the checkpoints of a store are kept. */
export function checkpointFileOf(file: string): string {
  return `${file}.checkpoints`
}

/** @returns undefined when there is no such file. @throws ComityError `store_corrupt` when it cannot be read. */
export function readCheckpoints(file: string): ReadCheckpoints | undefined {
  return readEnd(file, MAX_READ)
}

/** The newest line. @returns undefined when there is none at all. */
export function readNewest(
  file: string,
): { readonly checkpoint: Checkpoint | undefined } | undefined {
  const read = readEnd(file, MAX_NEWEST)
  return read === undefined || read.lines.length === 0
    ? undefined
    : { checkpoint: read.lines.at(-1) }
}

/** Appends one checkpoint; on disk when it returns. Makes the file when it is not there. */
export function appendCheckpoint(file: string, checkpoint: Checkpoint): void {
  const descriptor = openSync(checkpointFileOf(file), 'a+', 0o600)
  try {
    dropTornLine(descriptor)
    writeSync(descriptor, `${encodeCheckpoint(checkpoint)}\n`)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

function dropTornLine(descriptor: number): void {
  const { size } = fstatSync(descriptor)
  const { bytes, start } = readLast(descriptor, size, MAX_NEWEST)
  if (size === 0 || bytes.at(-1) === 0x0a) return
  ftruncateSync(descriptor, start + bytes.lastIndexOf(0x0a) + 1)
}

function readEnd(file: string, maxBytes: number): ReadCheckpoints | undefined {
  const path = checkpointFileOf(file)
  let descriptor: number
  try {
    descriptor = openSync(path, 'r')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw new ComityError('store_corrupt', `${path} cannot be read`, { cause: error })
  }
  try {
    const { bytes, start } = readLast(descriptor, fstatSync(descriptor).size, maxBytes)
    const text = bytes.toString('utf8')
    const whole = text.slice(start === 0 ? 0 : text.indexOf('\n') + 1, text.lastIndexOf('\n') + 1)
    const lines = whole.split('\n').slice(0, -1)
    return { lines: lines.map(parseCheckpoint), cut: start > 0 }
  } catch (error) {
    throw new ComityError('store_corrupt', `${path} cannot be read`, { cause: error })
  } finally {
    closeSync(descriptor)
  }
}

function readLast(
  descriptor: number,
  size: number,
  maxBytes: number,
): { readonly bytes: Buffer; readonly start: number } {
  const start = Math.max(0, size - maxBytes)
  const bytes = Buffer.alloc(size - start)
  let filled = 0
  while (filled < bytes.length) {
    const read = readSync(descriptor, bytes, filled, bytes.length - filled, start + filled)
    if (read === 0) break
    filled += read
  }
  return { bytes: bytes.subarray(0, filled), start }
}
