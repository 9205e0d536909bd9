/**
 * Servers in a TOML file of a host, as tables `[mcp_servers.name]`: whole tables go and come, every other byte stays.
 *
 * The library reads and judges; where a table begins and ends is found here, in a text that is known to be valid. A
 * server that is not written as tables of its own stays where it is.
 *
 * @source TOML 1.0.0, table, string
 */
import { parse, TomlError } from 'smol-toml'
import { sameJson } from '../checks/same-json.ts'
import type { HostServer, ServerChange, ServerList } from './server-list.ts'
import { ServerListFault } from './server-list.ts'

const KEY = 'mcp_servers'
const NOT_BY_ITSELF = 'it is not written as a table of its own, so it cannot be taken out alone'

type Table = Readonly<Record<string, unknown>>

/** @throws ServerListFault */
export function readTomlServers(text: string): ServerList | undefined {
  const root = read(text)
  if (!Object.hasOwn(root, KEY)) return undefined
  const all = root[KEY]
  if (!isTable(all)) throw new ServerListFault(`its ${KEY} is no table`)
  const tables = findTables(text)
  const spansOf = (name: string): readonly Span[] =>
    tables.filter(({ path }) => path[0] === KEY && path[1] === name)
  const servers = Object.keys(all).map((name): HostServer => {
    const own = spansOf(name)
      .map(({ start, end }) => text.slice(start, end))
      .join('')
    const alone = isAlone(own, name, all[name])
    return { name, value: all[name], text: own, ...(alone ? {} : { fixed: NOT_BY_ITSELF }) }
  })
  const list: ServerList = {
    servers,
    elsewhere: [],
    replace: (change) => replaceTables(text, change, spansOf),
    write: writeTable,
  }
  // Where the list is one inline value no table can be added; better known now than when it is written.
  const probe = list.replace({
    remove: [],
    put: [['comity probe', '["mcp_servers"."comity probe"]\n']],
  })
  if (!parses(probe)) throw new ServerListFault(`its ${KEY} is not written as tables`)
  return list
}

function read(text: string): Table {
  try {
    return parse(withoutMark(text), { integersAsBigInt: 'asNeeded', maxDepth: 100 })
  } catch (error) {
    const line = error instanceof TomlError ? `line ${error.line}` : 'somewhere'
    throw new ServerListFault(`it is not TOML: ${line} cannot be read`, { cause: error })
  }
}

function parses(text: string): boolean {
  try {
    read(text)
    return true
  } catch {
    return false
  }
}

/** Whether the server's own tables say all of it: then nothing of it stays behind when they go. */
function isAlone(own: string, name: string, value: unknown): boolean {
  if (own === '' || !parses(own)) return false
  const list = read(own)[KEY]
  return isTable(list) && Object.hasOwn(list, name) && sameJson(plain(list[name]), plain(value))
}

/** Dates and large numbers as text: to be compared only. */
function plain(value: unknown): unknown {
  if (value instanceof Date || typeof value === 'bigint') return String(value)
  if (Array.isArray(value)) return value.map(plain)
  if (!isTable(value)) return value
  return Object.entries(value).map(([key, item]) => [key, plain(item)])
}

function isTable(value: unknown): value is Table {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
  )
}

interface Span {
  /** From the beginning of the header's line to the end of its last entry's line. */
  readonly start: number
  readonly end: number
  readonly path: readonly string[]
}

/** The tables of a valid text, with what they hold; comments behind a table's last entry are not its own. */
function findTables(text: string): Span[] {
  const tables: Span[] = []
  let open: { start: number; end: number; path: readonly string[] } | undefined
  for (let at = text.startsWith('\uFEFF') ? 1 : 0; at < text.length;) {
    const end = endOfStatement(text, at)
    const statement = text.slice(at, end).trim()
    if (statement.startsWith('[')) {
      if (open !== undefined) tables.push(open)
      open = { start: at, end, path: pathOf(statement) }
    } else if (statement !== '' && !statement.startsWith('#') && open !== undefined) open.end = end
    at = end
  }
  if (open !== undefined) tables.push(open)
  return tables
}

/** The end of a line, and of the lines that strings, arrays and inline tables go on over. */
function endOfStatement(text: string, from: number): number {
  let depth = 0
  for (let at = from; at < text.length;) {
    const character = text[at] ?? ''
    if (character === '\n' && depth <= 0) return at + 1
    if (character === '#') at = endOf(text, '\n', at)
    else if (character === '"' || character === "'") at = endOfString(text, at, character)
    else {
      if (character === '[' || character === '{') depth += 1
      else if (character === ']' || character === '}') depth -= 1
      at += 1
    }
  }
  return text.length
}

function endOfString(text: string, from: number, quote: string): number {
  const isLong = text.startsWith(quote.repeat(3), from)
  const close = isLong ? quote.repeat(3) : quote
  for (let at = from + close.length; at < text.length; at += 1) {
    if (quote === '"' && text[at] === '\\') at += 1
    else if (text.startsWith(close, at)) {
      let end = at + close.length
      // Up to two quotes may stand before the closing ones.
      while (isLong && text[end] === quote) end += 1
      return end
    }
  }
  return text.length
}

function endOf(text: string, what: string, from: number): number {
  const at = text.indexOf(what, from)
  return at === -1 ? text.length : at
}

/** The names in a header, read as the library reads them. */
function pathOf(header: string): readonly string[] {
  const path: string[] = []
  for (let value: unknown = read(`${header}\n`); isTable(value);) {
    const [key] = Object.keys(value)
    if (key === undefined) break
    path.push(key)
    value = value[key]
  }
  return path
}

function replaceTables(
  text: string,
  change: ServerChange,
  spansOf: (name: string) => readonly Span[],
): string {
  const names = [...change.remove, ...change.put.map(([name]) => name)]
  const gone = names.flatMap(spansOf).toSorted((one, other) => one.start - other.start)
  let kept = ''
  let at = 0
  for (const { start, end } of gone) {
    kept += text.slice(at, Math.max(start, at))
    at = Math.max(end, at)
  }
  kept += text.slice(at)
  const newline = /\r\n/.test(text) ? '\r\n' : '\n'
  return change.put.reduce((whole, [, table]) => {
    const gap = whole === '' ? '' : whole.endsWith('\n') ? newline : newline + newline
    const own = table.endsWith('\n') ? table : `${table}\n`
    return whole + gap + (newline === '\n' ? own : own.replaceAll(/\r?\n/g, newline))
  }, kept)
}

function writeTable(name: string, entry: Table): string {
  const lines = Object.entries(entry).map(([key, value]) => `${key} = ${writeValue(value)}`)
  return `[${KEY}.${name}]\n${lines.join('\n')}\n`
}

/** Text and lists of text: all that an entry of ours has. */
function writeValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(writeValue).join(', ')}]`
  // The escapes of JSON are TOML's too, but for what TOML wants escaped besides.
  return JSON.stringify(String(value).toWellFormed()).replaceAll('\u007F', '\\u007F')
}

function withoutMark(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text
}
