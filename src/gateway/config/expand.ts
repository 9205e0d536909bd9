/**
 * `${env:X}` and `${file:path}` in the values that may hold secrets or change by machine.
 *
 * Expanded once: what comes out is not looked at again. What else looks like `${...}` is kept as it is and reported.
 */
import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { isInherited } from '../../mcp/upstream/supervise.ts'

export interface ExpandFrom {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Folder that relative paths start from: the config file's. */
  readonly directory: string
}

/** A secret in a file is a line, not a document. */
const MAX_FILE_BYTES = 64 * 1024
const REFERENCE = /\$\{(env|file):([^}]*)\}/g
const FOREIGN = /\$\{(?!env:|file:)[^}]*\}/

export interface Expanded {
  readonly text: string
  /** The values that were put in and may be secrets: not what every server is given, such as HOME. */
  readonly values: readonly string[]
  /** What is missing, in words, without any value. */
  readonly faults: readonly string[]
  /** Holds a `${...}` of another host's kind. */
  readonly foreign: boolean
}

/** Replaces every reference in one value. */
export function expandText(text: string, from: ExpandFrom): Expanded {
  const faults: string[] = []
  const values: string[] = []
  const expanded = text.replaceAll(REFERENCE, (_whole, kind: string, name: string) => {
    const got = kind === 'env' ? fromEnvironment(name, from) : fromFile(name, from)
    if ('fault' in got) faults.push(got.fault)
    else if (kind === 'file' || !isInherited(name)) values.push(got.value)
    return 'value' in got ? got.value : ''
  })
  return { text: expanded, values, faults, foreign: FOREIGN.test(text) }
}

type Got = { readonly value: string } | { readonly fault: string }

function fromEnvironment(name: string, { env }: ExpandFrom): Got {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    return { fault: '${env:...} expects the name of an environment variable' }
  }
  const value = env[name]
  return value === undefined
    ? { fault: `the environment variable ${name} is not set where comity runs` }
    : { value }
}

function fromFile(name: string, { directory }: ExpandFrom): Got {
  if (name === '') return { fault: '${file:...} expects a path' }
  const path = resolve(directory, name)
  let bytes: Buffer
  try {
    const { size } = statSync(path)
    if (size > MAX_FILE_BYTES) {
      return { fault: `the file ${path} has ${size} bytes; expected at most ${MAX_FILE_BYTES}` }
    }
    bytes = readFileSync(path)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable'
    return { fault: `the file ${path} cannot be read (${code})` }
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return { value: text.replace(/\r?\n$/, '') }
  } catch {
    return { fault: `the file ${path} is not UTF-8 text` }
  }
}
