/**
 * How each host says what a server is, in the words that take-over.ts knows: `command`, `args`, `env`, `cwd`, `url`,
 * `headers`, `disabled`. What a host fills in itself is filled in, referred to, or a reason to leave the server. Pure.
 */
import { isObject } from '../../core/words/is-object.ts'
import type { HostFile, HostName } from './host-files.ts'

/** A server in common words, or why it stays. */
export type Translated =
  | {
      readonly value: Readonly<Record<string, unknown>>
      /** What a person must be told. */
      readonly notes: readonly string[]
    }
  | { readonly left: string }

export interface DialectPlace {
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
}

type Given = Readonly<Record<string, unknown>>

const SIGNS_IN = 'it signs in by itself (OAuth), which comity does not do in this version'

/** @param value one entry of the host's list, whatever it is; what is no object is for take-over.ts to refuse. */
export function translateServer(file: HostFile, value: unknown, place: DialectPlace): Translated {
  if (!isObject(value)) return { value: value as Given, notes: [] }
  const own = TRANSLATE[file.host](value)
  if ('left' in own) return own
  const expanded = expandAll(own.value, file, place)
  return 'left' in expanded ? expanded : { ...expanded, notes: [...own.notes, ...expanded.notes] }
}

const asItIs = (value: Given): Translated => ({ value, notes: [] })

const TRANSLATE: Readonly<Record<HostName, (value: Given) => Translated>> = {
  'claude-desktop': asItIs,
  cursor: asItIs,
  'claude-code': fromClaudeCode,
  'claude-code-project': fromClaudeCode,
  vscode: withoutType,
  'vscode-workspace': withoutType,
  windsurf: fromWindsurf,
  codex: fromCodex,
  'gemini-cli': fromGemini,
}

/** Every entry has its type there; it follows from command or url. */
function withoutType(value: Given): Translated {
  const { type: _type, ...rest } = value
  return asItIs(rest)
}

function fromClaudeCode(value: Given): Translated {
  if (value['headersHelper'] !== undefined) {
    return {
      left: 'its headers are made by a command at each connection, which comity does not run',
    }
  }
  return isSet(value['oauth']) ? { left: SIGNS_IN } : withoutType(value)
}

function fromWindsurf(value: Given): Translated {
  const { serverUrl, ...rest } = value
  return asItIs(serverUrl === undefined ? rest : { ...rest, url: serverUrl })
}

/** `httpUrl` is Streamable HTTP, `url` HTTP+SSE: which of them a server speaks is found out by asking it. */
function fromGemini(value: Given): Translated {
  const { httpUrl, trust, includeTools, excludeTools, oauth, authProviderType, ...rest } = value
  if (isSet(oauth) || isSet(authProviderType)) return { left: SIGNS_IN }
  const notes = [
    ...(trust === undefined
      ? []
      : ['trust is not taken over: what may run unasked is said by policy rules']),
    ...(includeTools === undefined && excludeTools === undefined
      ? []
      : ['all its tools stay on: policy rules with effect: deny take tools away']),
  ]
  return { value: httpUrl === undefined ? rest : { ...rest, url: httpUrl }, notes }
}

const CODEX_TIMES = [
  'startup_timeout_sec',
  'startup_timeout_ms',
  'tool_timeout_sec',
  'required',
  'supports_parallel_tool_calls',
]

function fromCodex(value: Given): Translated {
  const {
    env_vars: names,
    bearer_token_env_var: bearer,
    http_headers: headers,
    env_http_headers: fromEnv,
    enabled_tools: on,
    disabled_tools: off,
    ...rest
  } = value
  if (isSet(value['oauth']) || isSet(value['oauth_resource']) || isSet(value['scopes'])) {
    return { left: SIGNS_IN }
  }
  const variables = names === undefined ? [] : names
  if (!Array.isArray(variables) || !variables.every((name) => typeof name === 'string')) {
    return { left: 'its env_vars are not a list of names' }
  }
  const env = Object.fromEntries(variables.map((name) => [name, reference(name)]))
  const said = [value['env'], headers, fromEnv].find(
    (each) => each !== undefined && !isObject(each),
  )
  if (said !== undefined) return { left: 'its env or its headers are not a table' }
  const sent = Object.entries((fromEnv ?? {}) as Given)
  if (!sent.every(([, name]) => typeof name === 'string')) {
    return { left: 'its env_http_headers are not a table of names' }
  }
  const allHeaders = {
    ...((headers ?? {}) as Given),
    ...Object.fromEntries(sent.map(([header, name]) => [header, reference(String(name))])),
    ...(typeof bearer === 'string' ? { Authorization: `Bearer ${reference(bearer)}` } : {}),
  }
  const kept = Object.fromEntries(
    Object.entries(rest).filter(([key]) => !CODEX_TIMES.includes(key)),
  )
  return {
    value: {
      ...kept,
      ...(Object.keys(env).length === 0
        ? {}
        : { env: { ...env, ...((value['env'] ?? {}) as Given) } }),
      ...(Object.keys(allHeaders).length === 0 ? {} : { headers: allHeaders }),
    },
    notes:
      on === undefined && off === undefined
        ? []
        : ['all its tools stay on: policy rules with effect: deny take tools away'],
  }
}

function reference(name: string): string {
  return `\${env:${name}}`
}

/** Texts in which hosts fill something in. */
const EXPANDED = ['command', 'args', 'env', 'cwd', 'url', 'headers']

function expandAll(value: Given, file: HostFile, place: DialectPlace): Translated {
  const notes: string[] = []
  let left: string | undefined
  const expand = (item: unknown): unknown => {
    if (typeof item === 'string') {
      const expanded = expandText(item, file, place)
      if ('left' in expanded) left ??= expanded.left
      else notes.push(...expanded.notes)
      return 'left' in expanded ? item : expanded.text
    }
    if (Array.isArray(item)) return item.map(expand)
    if (!isObject(item)) return item
    return mapValues(item, expand)
  }
  const expanded = Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, EXPANDED.includes(key) ? expand(item) : item]),
  )
  return left === undefined ? { value: expanded, notes } : { left }
}

/** Keeps a key called `__proto__` a key: it is for take-over.ts to refuse. */
function mapValues(value: Given, change: (item: unknown) => unknown): Given {
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, change(item)]))
}

type Expanded =
  | { readonly text: string; readonly notes: readonly string[] }
  | { readonly left: string }

function expandText(text: string, file: HostFile, place: DialectPlace): Expanded {
  switch (file.host) {
    case 'claude-code':
    case 'claude-code-project':
      return expandShell(text, /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g, place)
    case 'gemini-cli':
      return expandShell(
        text,
        /\$(?:\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|([A-Za-z_][A-Za-z0-9_]*))/g,
        place,
      )
    case 'cursor':
    case 'vscode':
    case 'vscode-workspace':
      return expandEditor(text, file, place)
    case 'claude-desktop':
    case 'windsurf':
    case 'codex':
      return { text, notes: [] }
  }
}

/** `${NAME}` becomes `${env:NAME}`; with a default, whichever of the two is in force here. */
function expandShell(text: string, pattern: RegExp, { env }: DialectPlace): Expanded {
  const notes: string[] = []
  const expanded = text.replaceAll(
    pattern,
    (_all, braced?: string, otherwise?: string, bare?: string) => {
      const name = typeof braced === 'string' ? braced : String(bare)
      if (typeof otherwise !== 'string' || env[name] !== undefined) return reference(name)
      notes.push(`${name} is not set here: its default is taken`)
      return otherwise
    },
  )
  return { text: expanded, notes }
}

function expandEditor(text: string, file: HostFile, { home }: DialectPlace): Expanded {
  const { project } = file
  const filled = text
    .replaceAll('${userHome}', () => home)
    .replaceAll('${workspaceFolder}', () => project ?? '${workspaceFolder}')
  const [asked] = /\$\{input:[^}]*\}/.exec(filled) ?? []
  if (asked !== undefined) {
    return {
      left: `the host asks a person for ${asked} at each start; put it into a file or a variable first`,
    }
  }
  const [other] = /\$\{(?!env:|file:)[A-Za-z][A-Za-z:]*[^}]*\}/.exec(filled) ?? []
  if (other !== undefined && KNOWN_TO_EDITORS.test(other)) {
    return { left: `the host fills in ${other}, which only it knows` }
  }
  return { text: filled, notes: [] }
}

const KNOWN_TO_EDITORS =
  /^\$\{(?:workspaceFolder|workspaceFolderBasename|workspaceRoot|file|fileBasename|relativeFile|cwd|execPath|pathSeparator|config:|command:|lineNumber|selectedText)/

function isSet(value: unknown): boolean {
  if (value === undefined || value === null || value === false) return false
  return !isObject(value) || value['enabled'] !== false
}
