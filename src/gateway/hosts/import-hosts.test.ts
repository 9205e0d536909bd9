/** Hosts beyond the first two: their places, their words, their files given back; and an import that is killed midway. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parse } from 'smol-toml'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { loadConfig } from '../config/load-config.ts'
import { applyImport } from './apply-import.ts'
import type { HostName, HostState } from './host-files.ts'
import { HOST_NAMES, hostFiles, readHostFile } from './host-files.ts'
import type { ImportPlan } from './plan-import.ts'
import { planImport } from './plan-import.ts'
import { undoImport } from './undo-import.ts'

let home: string
let project: string
let configFile: string

beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'comity-hosts-')))
  project = join(home, 'work', 'shop')
  mkdirSync(project, { recursive: true })
  configFile = join(home, '.config/comity/comity.yaml')
})

afterEach(() => {
  rmSync(home, { recursive: true, force: true })
})

const FILES: Readonly<Record<HostName, string>> = {
  'claude-desktop': '{"mcpServers":{"desktop":{"command":"d"}}}',
  cursor: `{"mcpServers":{"home":{"command":"\${userHome}/bin/c"},"folder":{"command":"c","args":["\${workspaceFolder}"]}}}`,
  'claude-code': `{
  "numStartups": 7,
  "mcpServers": {
    "search": { "type": "http", "url": "https://s.example/mcp", "headers": { "Authorization": "Bearer \${SEARCH_TOKEN}" } },
    "local": { "type": "stdio", "command": "\${BIN:-/opt/bin}/l", "args": [], "env": {} },
    "signed": { "type": "http", "url": "https://o.example/mcp", "oauth": { "clientId": "x" } },
    "helped": { "type": "http", "url": "https://o.example/mcp", "headersHelper": "/bin/x" }
  },
  "projects": { "/p": { "mcpServers": { "own": { "command": "o" } }, "history": [{ "display": "[mcpServers]" }] } }
}
`,
  'claude-code-project': '{ "mcpServers": { "team": { "command": "t" } } }\n',
  vscode: `{
  // asked once
  "inputs": [{ "id": "key", "type": "promptString", "password": true }],
  "servers": {
    "asked": { "type": "stdio", "command": "a", "env": { "KEY": "\${input:key}" } },
    "plain": { "type": "http", "url": "https://v.example/mcp", "headers": { "X-Key": "\${env:VS_KEY}" } }, // kept
  }
}
`,
  'vscode-workspace':
    '{"servers":{"here":{"type":"stdio","command":"h","cwd":"${workspaceFolder}/sub"}}}',
  windsurf:
    '{"mcpServers":{"far":{"serverUrl":"https://w.example/mcp","headers":{"API_KEY":"wwwwwwww1"},"disabledTools":["x"]}}}',
  codex: `model = "o"
# my servers
[mcp_servers.files]
command = "npx"
args = ["-y", "files"]
env_vars = ["FILES_HOME"]
startup_timeout_sec = 20

[mcp_servers.files.env]
FILES_TOKEN = "0123456789"

[mcp_servers.web]
url = "https://x.example/mcp"
bearer_token_env_var = "WEB_TOKEN"
http_headers = { "X-Team" = "a" }
env_http_headers = { "X-Key" = "WEB_KEY" }
enabled_tools = ["find"]
enabled = false

[mcp_servers]
inline = { command = "i" }

[tui]
theme = "dark"
`,
  'gemini-cli': `{
  "theme": "x",
  "mcpServers": {
    "stream": { "httpUrl": "https://g.example/mcp", "url": "https://g.example/sse", "timeout": 5, "trust": true },
    "events": { "url": "https://g.example/sse", "headers": { "Authorization": "Bearer $G_TOKEN" } },
    "run": { "command": "g", "env": { "G_KEY": "\${G_TOKEN}", "G_MODE": "\${G_MODE:-fast}" }, "includeTools": ["a"] },
    "google": { "httpUrl": "https://g.example/mcp", "authProviderType": "google_credentials" }
  }
}
`,
}

const ENV = {
  SEARCH_TOKEN: 's',
  VS_KEY: 'v',
  FILES_HOME: '/f',
  WEB_TOKEN: 'w',
  WEB_KEY: 'k',
  G_TOKEN: 'g',
}

const places = () => hostFiles({ platform: 'linux', home, env: {}, project })

function put(...hosts: readonly HostName[]): void {
  for (const { host, path } of places().filter((file) => hosts.includes(file.host))) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, FILES[host])
  }
}

function states(): readonly HostState[] {
  return places().flatMap((file) => {
    const state = readHostFile(file)
    if (state === undefined) return []
    return 'problem' in state ? expect.fail(state.problem) : [state]
  })
}

function plan(
  env: Readonly<Record<string, string>> = ENV,
  platform: NodeJS.Platform = 'linux',
): ImportPlan {
  return planImport({
    hosts: states(),
    configFile,
    node: '/opt/node',
    entry: '/opt/comity.js',
    platform,
    home,
    env,
    now: '2026-12-01T10:00:00.000Z',
  })
}

const apply = (made = plan()): void =>
  void applyImport(made, { hosts: HOST_NAMES, env: { HOME: home, ...ENV } })

const text = (host: HostName): string =>
  readFileSync(places().find((file) => file.host === host)?.path ?? '', 'utf8')

function launches(...hosts: readonly HostName[]): string[] {
  put(...hosts)
  return plan().servers.map(({ name, launchLine }) => `${name}: ${launchLine}`)
}

const lefts = (): string[] => plan().left.map(({ name, reason }) => `${name}: ${reason}`)

test('where each host keeps its file, by platform and by what the environment says', () => {
  const at = (platform: NodeJS.Platform, env = {}): Record<string, string> =>
    Object.fromEntries(
      hostFiles({ platform, home: '/h', env, project: '/p' }).map(({ host, path }) => [host, path]),
    )
  expect(at('linux')).toEqual({
    'claude-desktop': '/h/.config/Claude/claude_desktop_config.json',
    cursor: '/h/.cursor/mcp.json',
    'claude-code': '/h/.claude.json',
    'claude-code-project': '/p/.mcp.json',
    vscode: '/h/.config/Code/User/mcp.json',
    'vscode-workspace': '/p/.vscode/mcp.json',
    windsurf: '/h/.codeium/windsurf/mcp_config.json',
    codex: '/h/.codex/config.toml',
    'gemini-cli': '/h/.gemini/settings.json',
  })
  expect(at('darwin')).toMatchObject({
    vscode: '/h/Library/Application Support/Code/User/mcp.json',
    codex: '/h/.codex/config.toml',
  })
  expect(
    at('linux', { CODEX_HOME: '/c', CLAUDE_CONFIG_DIR: '/d', XDG_CONFIG_HOME: '/x' }),
  ).toMatchObject({
    'claude-code': '/d/.claude.json',
    vscode: '/x/Code/User/mcp.json',
    codex: '/c/config.toml',
  })
  expect(
    hostFiles({ platform: 'linux', home: '/h', env: {} }).map(({ host }) => host),
  ).not.toContain('vscode-workspace')
})

test('Claude Code: its variables are referred to, a default is taken when there is none, projects keep theirs', () => {
  expect(launches('claude-code')).toEqual([
    'search: https://s.example/mcp with Authorization: Bearer ${env:SEARCH_TOKEN}',
    'local: /opt/bin/l',
  ])
  expect(lefts()).toEqual([
    'own: it is for the project /p alone; comity would give it to every project',
    expect.stringMatching(/^signed: it signs in by itself/u),
    expect.stringMatching(/^helped: its headers are made by a command/u),
  ])
  expect(plan().servers.flatMap(({ notes }) => notes)).toEqual([
    'BIN is not set here: its default is taken',
  ])
  const [unset] = plan({}).left.filter(({ name }) => name === 'search')
  expect(unset?.reason).toContain('it needs SEARCH_TOKEN in the environment')
})

test('VS Code: what a person is asked for stays, comments outside of the list stay, the entry says its transport', () => {
  expect(launches('vscode')).toEqual(['plain: https://v.example/mcp with X-Key: ${env:VS_KEY}'])
  expect(lefts()).toEqual([
    expect.stringMatching(/^asked: the host asks a person for \$\{input:key\}/u),
  ])
  apply()
  expect(text('vscode')).toBe(`{
  // asked once
  "inputs": [{ "id": "key", "type": "promptString", "password": true }],
  "servers": {
    "asked": { "type": "stdio", "command": "a", "env": { "KEY": "\${input:key}" } },
    "comity": {"type":"stdio","command":"/opt/node","args":["/opt/comity.js","mcp","-c",${JSON.stringify(configFile)}]}
  }
}
`)
})

test('editors: what is known without them is filled in, what only they know stays', () => {
  expect(launches('cursor', 'vscode-workspace')).toEqual([`home: ${home}/bin/c`, 'here: h'])
  expect(lefts()).toEqual(['folder: the host fills in ${workspaceFolder}, which only it knows'])
  expect(plan().servers[1]?.entry).toMatchObject({ cwd: join(project, 'sub') })
})

test('Windsurf and Gemini CLI: their words for an address, and what has no effect is said', () => {
  expect(launches('windsurf', 'gemini-cli')).toEqual([
    'far: https://w.example/mcp with API_KEY: ${file:./secrets/far.API_KEY}',
    'stream: https://g.example/mcp',
    'events: https://g.example/sse with Authorization: Bearer ${env:G_TOKEN}',
    "run: G_KEY='${env:G_TOKEN}' G_MODE=fast g",
  ])
  expect(lefts()).toEqual([expect.stringMatching(/^google: it signs in by itself/u)])
  expect(plan().servers.flatMap(({ notes }) => notes)).toEqual([
    expect.stringMatching(/^disabledTools is not taken over/u),
    expect.stringMatching(/^timeout is not taken over/u),
    expect.stringMatching(/^trust is not taken over/u),
    expect.stringMatching(/^all its tools stay on/u),
    'G_MODE is not set here: its default is taken',
  ])
})

test('Codex: its variables and headers by reference, and the rest of the file byte for byte', () => {
  expect(launches('codex')).toEqual([
    "files: FILES_HOME='${env:FILES_HOME}' FILES_TOKEN='${file:./secrets/files.FILES_TOKEN}' npx -y files",
    'web: https://x.example/mcp with X-Team: a, X-Key: ${env:WEB_KEY}, Authorization: Bearer ${env:WEB_TOKEN}',
  ])
  expect(lefts()).toEqual([
    expect.stringMatching(/^inline: it is not written as a table of its own/u),
  ])
  apply()
  const after = text('codex')
  expect(after).toBe(`model = "o"
# my servers



[mcp_servers]
inline = { command = "i" }

[tui]
theme = "dark"

[mcp_servers.comity]
command = "/opt/node"
args = ["/opt/comity.js", "mcp", "-c", ${JSON.stringify(configFile)}]
`)
  expect(Object.keys(parse(after)['mcp_servers'] ?? {})).toEqual(['inline', 'comity'])
  const [files, web] = loadConfig(configFile, { HOME: home, ...ENV }).mcpServers
  expect(files).toMatchObject({ env: { FILES_HOME: '/f', FILES_TOKEN: '0123456789' } })
  expect(web).toMatchObject({ disabled: true })
})

test('all hosts at once: imported, pointed at comity, not taken a second time, and given back byte for byte', () => {
  put(...HOST_NAMES)
  apply()
  for (const { state } of plan().hosts) expect.fail(`${state.host} has something to take again`)
  for (const host of HOST_NAMES) expect(text(host)).toContain('/opt/comity.js')
  const { hosts, kept } = undoImport(configFile)
  expect(hosts.map(({ result }) => result)).toEqual(HOST_NAMES.map(() => 'restored'))
  expect(kept).toEqual([])
  for (const host of HOST_NAMES) expect(text(host)).toBe(FILES[host])
})

test('Codex, after a foreign edit: our table goes, theirs come back, the edit stays', () => {
  put('codex')
  apply()
  const [file] = places().filter(({ host }) => host === 'codex')
  writeFileSync(file?.path ?? '', text('codex').replace('theme = "dark"', 'theme = "light" # new'))
  expect(undoImport(configFile).hosts).toMatchObject([{ result: 'merged' }])
  const back = text('codex')
  expect(back).toContain('theme = "light" # new')
  const expected = parse(FILES.codex)['mcp_servers']
  expect(parse(back)['mcp_servers']).toEqual(expected)
})

test('on Windows, where no process is shared, each host starts its own', () => {
  put('codex')
  expect(plan(ENV, 'win32').hostEntry.args).toContain('--standalone')
  expect(plan().hostEntry.args).not.toContain('--standalone')
})

test('broken files, and keys that no object should have, are left alone', () => {
  put('codex', 'vscode', 'gemini-cli')
  const [vscode, codex, gemini] = places().filter(({ host }) =>
    ['vscode', 'codex', 'gemini-cli'].includes(host),
  )
  if (vscode === undefined || codex === undefined || gemini === undefined) return expect.fail()
  writeFileSync(vscode.path, '{"servers": {"a": ')
  writeFileSync(codex.path, 'a = "\n')
  writeFileSync(
    gemini.path,
    '{"mcpServers":{"__proto__":{"command":"x"},"b":{"command":"y","env":{"__proto__":"1"}}}}',
  )
  expect(readHostFile(vscode)).toMatchObject({ problem: expect.stringMatching(/^it is not JSON/u) })
  expect(readHostFile(codex)).toMatchObject({ problem: expect.stringMatching(/^it is not TOML/u) })
  rmSync(vscode.path)
  rmSync(codex.path)
  expect(plan().left.map(({ name }) => name)).toEqual(['b'])
  expect(plan().servers.map(({ from }) => from)).toEqual(['__proto__'])
})

const KILLED = `
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
const rename = fs.renameSync
let left = Number(process.env.LEFT)
fs.renameSync = (from, to) => {
  if (left-- === 0) process.kill(process.pid, 'SIGKILL')
  rename(from, to)
}
syncBuiltinESMExports()
const { applyImport } = await import(process.env.APPLY)
const plan = JSON.parse(fs.readFileSync(0, 'utf8'), (key, value) =>
  value?.type === 'Buffer' ? Buffer.from(value.data) : value)
applyImport(plan, { hosts: plan.hosts.map(({ state }) => state.host), env: process.env })
`

test.each([0, 1, 4])(
  'killed when %i of the hosts are pointed at comity: undo gives every file back',
  async (left) => {
    put(...HOST_NAMES)
    const child = spawn(process.execPath, ['--input-type=module', '--eval', KILLED], {
      stdio: ['pipe', 'ignore', 'inherit'],
      env: {
        ...process.env,
        ...ENV,
        LEFT: String(left),
        APPLY: pathToFileURL(join(import.meta.dirname, 'apply-import.ts')).href,
      },
    })
    child.stdin.end(JSON.stringify(plan()))
    const [, signal] = (await once(child, 'exit')) as [number | null, string | null]
    expect(signal).toBe('SIGKILL')
    const pointed = HOST_NAMES.filter((host) => text(host) !== FILES[host])
    expect(pointed).toHaveLength(left)
    undoImport(configFile)
    for (const host of HOST_NAMES) expect(text(host)).toBe(FILES[host])
  },
)
