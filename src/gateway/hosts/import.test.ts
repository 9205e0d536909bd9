import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ComityError } from '../../core/words/errors.ts'
import { loadConfig } from '../config/load-config.ts'
import { applyImport } from './apply-import.ts'
import type { HostName, HostState } from './host-files.ts'
import { hostFiles, readHostFile } from './host-files.ts'
import { planImport } from './plan-import.ts'
import type { ImportPlan } from './plan-import.ts'
import { undoImport } from './undo-import.ts'

let home: string
let configFile: string

const CLAUDE = `{
  // my servers
  "mcpServers": {
    "filesystem": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/Users/me/My Documents"]
    },
    "github": {
      "command": "docker",
      "args": ["run", "-i", "--rm", "-e", "GITHUB_PERSONAL_ACCESS_TOKEN", "ghcr.io/github/github-mcp-server"],
      "env": { "GITHUB_PERSONAL_ACCESS_TOKEN": "ghp_aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789", "LOG_LEVEL": "info" }
    },
    "Über Suche": { "command": "/opt/suche", "args": ["--api-key", "hunter2hunter2", "--port=8080"], "autoApprove": ["find"] },
    "broken": { "transport": "none" }, /* keep me */
  },
  "globalShortcut": "Ctrl+Space"
}
`

const CURSOR = JSON.stringify(
  {
    mcpServers: {
      filesystem: {
        command: 'npx',
        args: ['-y', '@modelcontextprotocol/server-filesystem', '/Users/me/My Documents'],
      },
      github: {
        url: 'https://api.githubcopilot.com/mcp/',
        headers: { Authorization: 'Bearer abc.def', Accept: 'x', 'X-Team': 'a' },
      },
      needs: { command: 'x', env: { A: '${env:NOT_SET_HERE}' } },
      off: { command: 'y', disabled: true, env: { PORT: 8080, DEBUG: true } },
    },
  },
  null,
  4,
)

beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'comity-import-')))
  configFile = join(home, '.config/comity/comity.yaml')
})

afterEach(() => {
  rmSync(home, { recursive: true, force: true })
})

const paths = (): { claude: string; cursor: string } => ({
  claude: join(home, '.config/Claude/claude_desktop_config.json'),
  cursor: join(home, '.cursor/mcp.json'),
})

function put(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

function states(): readonly HostState[] {
  return hostFiles({ platform: 'linux', home, env: {} }).flatMap((file) => {
    const state = readHostFile(file)
    if (state === undefined) return []
    if ('problem' in state) throw new Error(state.problem)
    return [state]
  })
}

function plan(hosts = states()): ImportPlan {
  return planImport({
    hosts,
    configFile,
    node: '/opt/node/bin/node',
    entry: '/opt/comity/bin/comity.js',
    platform: 'linux',
    home,
    env: {},
    now: '2026-12-01T10:00:00.000Z',
  })
}

function apply(hosts: readonly HostName[] = ['claude-desktop', 'cursor']): ImportPlan {
  const made = plan()
  applyImport(made, { hosts, env: { HOME: home } })
  return made
}

const read = (path: string): string => readFileSync(path, 'utf8')
const mode = (path: string): number => statSync(path).mode & 0o777

/** Every file below the home with its bytes and permissions. */
function tree(): Readonly<Record<string, string>> {
  const entries = readdirSync(home, { recursive: true, withFileTypes: true })
  return Object.fromEntries(
    entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [path, `${mode(path).toString(8)} ${read(path)}`]),
  )
}

describe('the plan', () => {
  test('shows each launch line in full, secrets by their files, and what is left and why', () => {
    put(paths().claude, CLAUDE)
    put(paths().cursor, CURSOR)
    const { servers, hosts } = plan()
    expect(
      servers.map(({ host, from, name, launchLine }) => [host, from, name, launchLine]),
    ).toEqual([
      [
        'claude-desktop',
        'filesystem',
        'filesystem',
        "npx -y @modelcontextprotocol/server-filesystem '/Users/me/My Documents'",
      ],
      [
        'claude-desktop',
        'github',
        'github',
        "GITHUB_PERSONAL_ACCESS_TOKEN='${file:./secrets/github.GITHUB_PERSONAL_ACCESS_TOKEN}' LOG_LEVEL=info docker run -i --rm -e GITHUB_PERSONAL_ACCESS_TOKEN ghcr.io/github/github-mcp-server",
      ],
      [
        'claude-desktop',
        'Über Suche',
        'U-ber-Suche',
        "/opt/suche --api-key '${file:./secrets/U-ber-Suche.api-key}' --port=8080",
      ],
      [
        'cursor',
        'filesystem',
        'filesystem',
        "npx -y @modelcontextprotocol/server-filesystem '/Users/me/My Documents'",
      ],
      [
        'cursor',
        'github',
        'github-cursor',
        'https://api.githubcopilot.com/mcp/ with Authorization: ${file:./secrets/github-cursor.Authorization}, X-Team: a',
      ],
      ['cursor', 'off', 'off', 'PORT=8080 DEBUG=true y'],
    ])
    expect(servers.flatMap(({ notes }) => notes)).toEqual([
      'autoApprove is not taken over: what may run unasked is said by policy rules',
      'the header Accept is not taken over: comity sets it',
    ])
    expect(hosts.map(({ left }) => left)).toEqual([
      [{ name: 'broken', reason: 'it has neither a command nor an http(s) url' }],
      [
        {
          name: 'needs',
          reason: 'it needs NOT_SET_HERE in the environment, which is not set here',
        },
      ],
    ])
  })

  test('writes nothing', () => {
    put(paths().claude, CLAUDE)
    const before = tree()
    plan()
    expect(tree()).toEqual(before)
  })

  test('holds no secret in the config text or a launch line', () => {
    put(paths().claude, CLAUDE)
    put(paths().cursor, CURSOR)
    const { configText, servers, hosts } = plan()
    const shown = [
      configText,
      ...servers.map(({ launchLine }) => launchLine),
      ...hosts.map(({ text }) => text),
    ].join('\n')
    for (const secret of ['ghp_aB', 'hunter2', 'abc.def']) expect(shown).not.toContain(secret)
  })

  test('keeps every byte of the host file outside of the servers, and entries that stay', () => {
    put(paths().claude, CLAUDE)
    const [host] = plan().hosts
    expect(host?.text).toBe(`{
  // my servers
  "mcpServers": {
    "broken": { "transport": "none" },
    "comity": {"command":"/opt/node/bin/node","args":["/opt/comity/bin/comity.js","mcp","-c",${JSON.stringify(configFile)}]}
  },
  "globalShortcut": "Ctrl+Space"
}
`)
  })

  test('names that cannot be a peer are cleaned and never shared', () => {
    const names = ['task', 'a b', 'a-b', '???', '!!', '_x', 'x'.repeat(60), `${'x'.repeat(40)}y`]
    put(
      paths().cursor,
      JSON.stringify({
        mcpServers: Object.fromEntries(names.map((name) => [name, { command: 'c' }])),
      }),
    )
    expect(plan().servers.map(({ name }) => name)).toEqual([
      'task-cursor',
      'a-b',
      'a-b-cursor',
      'server',
      'server-cursor',
      'x',
      'x'.repeat(40),
      `${'x'.repeat(33)}-cursor`,
    ])
  })

  test('secrets of look-alike names do not share a file', () => {
    const env = { A_TOKEN: 'one-secret', a_token: 'two-secret', 'A.TOKEN': 'three-secret' }
    const servers = {
      'a.b': { command: 'c', env },
      a_b: { command: 'c', env },
      A_B: { command: 'd', env },
    }
    put(paths().cursor, JSON.stringify({ mcpServers: servers }))
    const { secrets } = apply()
    const files = new Set(secrets.map(({ path }) => path.toLowerCase()))
    expect(files.size).toBe(9)
    for (const server of loadConfig(configFile, { HOME: home }).mcpServers) {
      expect(server).toMatchObject({ env })
    }
  })

  test('our own entry of an earlier import is not taken as a server', () => {
    put(paths().claude, CLAUDE)
    const first = plan()
    put(paths().claude, first.hosts[0]?.text ?? '')
    expect(plan().servers).toEqual([])
    expect(plan().hosts).toEqual([])
  })
})

describe('doing it', () => {
  test('the config loads to what the hosts had, secrets included, in files of mode 0600', () => {
    put(paths().claude, CLAUDE)
    put(paths().cursor, CURSOR)
    const { secrets } = apply()
    const config = loadConfig(configFile, { HOME: home })
    expect(config.mcpServers).toMatchObject([
      {
        name: 'filesystem',
        command: 'npx',
        args: ['-y', '@modelcontextprotocol/server-filesystem', '/Users/me/My Documents'],
      },
      {
        name: 'github',
        env: {
          GITHUB_PERSONAL_ACCESS_TOKEN: 'ghp_aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789',
          LOG_LEVEL: 'info',
        },
      },
      { name: 'U-ber-Suche', args: ['--api-key', 'hunter2hunter2', '--port=8080'] },
      {
        name: 'github-cursor',
        url: 'https://api.githubcopilot.com/mcp/',
        headers: { Authorization: 'Bearer abc.def', 'X-Team': 'a' },
      },
      { name: 'off', disabled: true },
    ])
    expect(secrets.map(({ path }) => mode(path))).toEqual([0o600, 0o600, 0o600])
    expect(mode(dirname(secrets[0]?.path ?? ''))).toBe(0o700)
    expect(mode(configFile)).toBe(0o600)
  })

  test('a host that was not chosen keeps its file', () => {
    put(paths().claude, CLAUDE)
    put(paths().cursor, CURSOR)
    apply(['cursor'])
    expect(read(paths().claude)).toBe(CLAUDE)
    expect(JSON.parse(read(paths().cursor))).toHaveProperty(
      'mcpServers.comity.command',
      '/opt/node/bin/node',
    )
  })

  test('permissions and symbolic links of a host file stay', () => {
    const real = join(home, 'dotfiles/claude.json')
    put(real, CLAUDE)
    chmodSync(real, 0o640)
    mkdirSync(dirname(paths().claude), { recursive: true })
    symlinkSync(real, paths().claude)
    apply()
    expect(lstatSync(paths().claude).isSymbolicLink()).toBe(true)
    expect(mode(real)).toBe(0o640)
    undoImport(configFile)
    expect(read(real)).toBe(CLAUDE)
    expect(mode(real)).toBe(0o640)
  })

  test('a config that is there already is not touched, and nothing else is left behind', () => {
    put(paths().claude, CLAUDE)
    put(configFile, 'mcpServers: {}\n')
    const before = tree()
    expect(() => apply()).toThrow(ComityError)
    expect(() => apply()).toThrow(/is there already/)
    expect(tree()).toEqual(before)
  })

  test('a host file that changed since the plan is not touched, and nothing is left behind', () => {
    put(paths().claude, CLAUDE)
    put(paths().cursor, CURSOR)
    const made = plan()
    put(paths().cursor, '{}')
    const before = tree()
    expect(() => applyImport(made, { hosts: ['claude-desktop', 'cursor'], env: {} })).toThrow(
      /Cursor's file changed/,
    )
    expect(tree()).toEqual(before)
    expect(existsSync(dirname(configFile))).toBe(false)
  })
})

describe('undo', () => {
  test('restores every byte and removes what the import made', () => {
    put(paths().claude, `\ufeff${CLAUDE.replaceAll('\n', '\r\n')}`)
    put(paths().cursor, CURSOR)
    const before = tree()
    apply()
    const undone = undoImport(configFile)
    expect(undone.hosts.map(({ result }) => result)).toEqual(['restored', 'restored'])
    expect(undone.kept).toEqual([])
    expect(tree()).toEqual(before)
    expect(() => undoImport(configFile)).toThrow(/nothing to undo/)
  })

  test('after a foreign edit only our entry goes, ours come back, and the edit stays', () => {
    put(paths().claude, CLAUDE)
    apply()
    const edited = read(paths().claude)
      .replace('"Ctrl+Space"', '"Alt+Space" // new')
      .replace(
        '"broken": { "transport": "none" },',
        '"broken": { "transport": "none" },\n    "added": { "command": "z" },\n    "github": { "command": "mine" },',
      )
    put(paths().claude, edited)
    const { hosts } = undoImport(configFile)
    expect(hosts[0]?.result).toBe('merged')
    expect(hosts[0]?.detail).toContain('our entry was taken out, filesystem, Über Suche put back')
    const text = read(paths().claude)
    expect(text).toContain('"Alt+Space" // new')
    expect(text).not.toContain('comity')
    const state = states()[0]
    const servers = state?.servers?.servers ?? []
    expect(servers.map(({ name }) => name)).toEqual([
      'broken',
      'added',
      'github',
      'filesystem',
      'Über Suche',
    ])
    expect(Object.fromEntries(servers.map(({ name, value }) => [name, value]))).toMatchObject({
      github: { command: 'mine' },
      'Über Suche': { args: ['--api-key', 'hunter2hunter2', '--port=8080'] },
    })
    expect(read(hosts[0]?.backup ?? '')).toBe(CLAUDE)
  })

  test('an entry under our name that was changed is not ours to take', () => {
    put(paths().cursor, CURSOR)
    apply()
    put(paths().cursor, JSON.stringify({ mcpServers: { comity: { command: 'other' } } }))
    expect(undoImport(configFile).hosts[0]?.detail).toContain(
      'our entry was gone or changed already',
    )
    expect(JSON.parse(read(paths().cursor))).toMatchObject({
      mcpServers: { comity: { command: 'other' }, off: { command: 'y' } },
    })
  })

  test('a host file that was restored by hand is left as it is', () => {
    put(paths().cursor, CURSOR)
    apply()
    put(paths().cursor, CURSOR)
    expect(undoImport(configFile).hosts[0]?.result).toBe('untouched')
    expect(read(paths().cursor)).toBe(CURSOR)
  })

  test('a file that is gone or no JSON any more is named with its copy; undo can be repeated', () => {
    put(paths().cursor, CURSOR)
    apply()
    const ours = read(paths().cursor)
    rmSync(paths().cursor)
    expect(undoImport(configFile).hosts[0]?.result).toBe('gone')
    put(paths().cursor, '{')
    const { hosts, removed } = undoImport(configFile)
    expect(hosts[0]?.result).toBe('unusable')
    expect(read(hosts[0]?.backup ?? '')).toBe(CURSOR)
    expect(removed).toEqual([])
    put(paths().cursor, ours)
    expect(undoImport(configFile).hosts[0]?.result).toBe('restored')
  })

  test('a config that was changed since is kept with its secrets', () => {
    put(paths().claude, CLAUDE)
    apply()
    writeFileSync(configFile, `${read(configFile)}names: as-is\n`)
    const { kept, removed } = undoImport(configFile)
    expect(removed).toEqual([])
    expect(kept).toContain(configFile)
    expect(loadConfig(configFile, { HOME: home }).names).toBe('as-is')
  })

  test('an entry with a key that no config can have stays in the host file', () => {
    const odd = '{"command":"x","env":{"__proto__":""}}'
    put(paths().cursor, `{"mcpServers":{"a":${odd},"b":{"command":"y"}}}`)
    const made = plan()
    expect(made.servers.map((server) => server.name)).toEqual(['b'])
    expect(made.hosts.flatMap((host) => host.left)).toMatchObject([{ name: 'a' }])
  })

  test('whatever stands in a host file, import and undo give its bytes back', () => {
    const json = fc.oneof(
      fc.string(),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(fc.string(), { maxLength: 3 }),
    )
    const server = fc.oneof(
      fc.record(
        {
          command: fc.string(),
          args: fc.array(fc.string({ unit: 'binary' }), { maxLength: 4 }),
          env: fc.dictionary(fc.string(), fc.string()),
          url: fc.webUrl(),
          headers: fc.dictionary(fc.string(), fc.string()),
          cwd: fc.string(),
        },
        { requiredKeys: [] },
      ),
      json,
    )
    const file = fc.record(
      { mcpServers: fc.dictionary(fc.string(), server), other: json },
      { requiredKeys: [] },
    )
    const layout = fc.constantFrom(undefined, 2, '\t')
    fc.assert(
      fc.property(file, layout, (value, indent) => {
        const text = JSON.stringify(value, null, indent)
        put(paths().cursor, text)
        const made = plan()
        applyImport(made, { hosts: ['cursor'], env: { HOME: home } })
        expect(loadConfig(configFile, { HOME: home }).mcpServers.length).toBe(made.servers.length)
        undoImport(configFile)
        expect(read(paths().cursor)).toBe(text)
        expect(existsSync(configFile)).toBe(false)
      }),
      { numRuns: 150 },
    )
  })
})
