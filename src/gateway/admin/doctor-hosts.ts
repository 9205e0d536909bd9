/** The doctor's look at hosts: whether the files that `comity import` pointed at comity still do, and at this one. */
import { accessSync, constants, readFileSync } from 'node:fs'
import type { Config } from '../config/config.ts'
import { digestOf, type HostRecord, readRecord } from '../hosts/import-record.ts'
import type { Finding } from './doctor.ts'

const MAX_BYTES = 4 * 1024 * 1024

/** By the record of the import that made this configuration; without one there is nothing to compare with. */
export function examineHosts(config: Config): readonly Finding[] {
  const hosts = hostsOf(config.file)
  if (hosts === undefined || hosts.length === 0)
    return [
      {
        about: 'hosts',
        state: 'note',
        text: 'comity import pointed no host at this configuration',
        todo: `a host's entry is { "command": ${JSON.stringify(process.execPath)}, "args": [${JSON.stringify(process.argv[1] ?? 'comity')}, "mcp", "-c", ${JSON.stringify(config.file)}] }`,
      },
    ]
  return hosts.map(examineHost)
}

function hostsOf(configFile: string): readonly HostRecord[] | undefined {
  try {
    return readRecord(configFile).hosts
  } catch {
    return undefined
  }
}

function examineHost({ label, path, after, entry }: HostRecord): Finding {
  const about = label
  const bytes = readBytes(path)
  if (bytes === undefined)
    return {
      about,
      state: 'note',
      text: `${path} is not there any more`,
      todo: 'run comity import again if that host is still used',
    }
  const { command, args } = entryOf(entry)
  const missing = [command, args[0]].find((file) => file !== undefined && !isReadable(file))
  const names = bytes.includes(JSON.stringify(args[0] ?? '').slice(1, -1))
  const unchanged = digestOf(bytes) === after
  if (!unchanged && !names)
    return {
      about,
      state: 'problem',
      text: `${path} does not point at comity any more`,
      todo: 'comity import --undo, then comity import; or leave it so, when that host is to do without comity',
    }
  if (missing !== undefined)
    return {
      about,
      state: 'problem',
      text: `${path} starts ${missing}, which is not there`,
      todo: 'comity or Node.js was moved or updated: comity import --undo, then comity import',
    }
  return { about, state: 'ok', text: `${path} points at comity` }
}

function entryOf(text: string): { readonly command?: string; readonly args: readonly string[] } {
  try {
    const value = JSON.parse(text) as { readonly command?: unknown; readonly args?: unknown }
    return {
      ...(typeof value.command === 'string' ? { command: value.command } : {}),
      args: Array.isArray(value.args) ? value.args.map(String) : [],
    }
  } catch {
    return { args: [] }
  }
}

function readBytes(path: string): Buffer | undefined {
  try {
    const bytes = readFileSync(path)
    return bytes.length > MAX_BYTES ? undefined : bytes
  } catch {
    return undefined
  }
}

function isReadable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK)
    return true
  } catch {
    return false
  }
}
