/** What an import did, beside the config it wrote: what undo goes by. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import { ComityError } from '../../core/words/errors.ts'
import { HOST_NAMES } from './host-files.ts'

const hostRecord = z.strictObject({
  host: z.enum(HOST_NAMES),
  label: z.string(),
  path: z.string(),
  /** SHA-256 of the host's file before and after, hex. */
  before: z.string(),
  after: z.string(),
  /** The host's file as it was, byte for byte. */
  backup: z.string(),
  /** Entries taken out, by the host's names. */
  taken: z.array(z.string()),
  /** Our entry, as JSON. */
  entry: z.string(),
})

const importRecord = z.strictObject({
  version: z.literal(1),
  /** Files the import made: removed by undo when they are unchanged. */
  files: z.array(z.strictObject({ path: z.string(), digest: z.string() })),
  hosts: z.array(hostRecord),
})

export type HostRecord = z.infer<typeof hostRecord>
export type ImportRecord = z.infer<typeof importRecord>

/** Folder of records and backups. */
export function importFolder(configFile: string): string {
  return join(dirname(configFile), 'import')
}

/** Where the record of one config lies. */
export function recordFile(configFile: string): string {
  return join(importFolder(configFile), `${basename(configFile)}.json`)
}

/** @throws ComityError `not_found` when this config was not made by an import, `internal` when the record is damaged. */
export function readRecord(configFile: string): ImportRecord {
  const file = recordFile(configFile)
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const message = `there is nothing to undo: ${configFile} has no record of an import (expected ${file})`
    throw new ComityError('not_found', message, { cause: error })
  }
  const parsed = importRecord.safeParse(jsonOf(text))
  if (parsed.success) return parsed.data
  throw new ComityError(
    'internal',
    `${file} is damaged; the files beside it ending in .backup are the hosts' own`,
  )
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Hex SHA-256 of bytes. */
export function digestOf(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
