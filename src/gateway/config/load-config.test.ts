import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ComityError } from '../../core/words/errors.ts'
import type { Config } from './config.ts'
import { checkConfig, loadConfig } from './load-config.ts'

let folder: string

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'comity-config-')))
})

afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

function load(text: string, env: Record<string, string> = {}): Config {
  const file = join(folder, 'comity.yaml')
  writeFileSync(file, text)
  return loadConfig(file, { HOME: folder, ...env })
}

function mistakesOf(text: string | Uint8Array, env: Record<string, string> = {}): string {
  const file = join(folder, 'comity.yaml')
  writeFileSync(file, text)
  try {
    loadConfig(file, { HOME: folder, ...env })
  } catch (error) {
    if (error instanceof ComityError && error.code === 'config_invalid') return error.message
    throw error
  }
  throw new Error('expected mistakes, the config loaded')
}

describe('a config that is right', () => {
  test('every section arrives with its defaults applied and paths taken from the file', () => {
    writeFileSync(join(folder, 'token'), 'from-file\n')
    const config = load(
      `
agents:
  research: { card: "https://research.example/card.json", headers: { X-Key: "\${env:KEY}" }, allowHosts: [cdn.example] }
mcpServers:
  docs: { command: npx, args: [comity, docs, ./handbook], env: { TOKEN: "\${file:token}" }, cwd: sub, stateless: true, timeouts: { start: 2m, idle: 90s, call: 10m } }
  "42": { url: "https://tickets.example/mcp", headers: { Authorization: "Bearer \${file:./token}" }, revision: 2026-07-28, trust: none, capabilities: { tools: true, sampling: false } }
policy:
  preset: team
  rules:
    - { match: 42/delete_*, effect: ask, approver: operator, ttl: 10m }
    - { match: [docs/*, "*/list"], except: docs/x, kind: tool, groups: writers, when: "risk != 'read'", effect: allow, risk: read }
acceptance:
  research: { mediaTypes: [text/markdown], required: [report.md], maxBytes: 1000, citations: { resolveWith: docs/read } }
publish:
  desk: { description: Finds things, skills: { find: { route: docs/search_documents, text: query } } }
names: as-is
lists: strict
tokens: { alice: { token: t-alice, groups: [writers] }, bob: { token: "\${env:KEY}" } }
listen: { host: 0.0.0.0, port: 0, url: "https://GW.example/comity/", hosts: [gw-internal, "::1", "[2001:db8::1]"] }
store: "sqlite:data/comity.db"
`,
      { KEY: 'k1' },
    )
    expect(config).toEqual({
      file: join(folder, 'comity.yaml'),
      mcpServers: [
        {
          name: 'docs',
          transport: 'stdio',
          command: 'npx',
          args: ['comity', 'docs', './handbook'],
          env: { TOKEN: 'from-file' },
          cwd: join(folder, 'sub'),
          trust: 'all',
          capabilities: {},
          stateless: true,
          timeouts: { startMs: 120_000, idleMs: 90_000, callMs: 600_000 },
          disabled: false,
          brought: ['from-file'],
        },
        {
          name: '42',
          transport: 'http',
          url: 'https://tickets.example/mcp',
          headers: { Authorization: 'Bearer from-file' },
          revision: '2026-07-28',
          trust: 'none',
          capabilities: { tools: true, sampling: false },
          stateless: false,
          timeouts: {},
          disabled: false,
          brought: ['from-file'],
        },
      ],
      agents: [
        {
          name: 'research',
          card: 'https://research.example/card.json',
          headers: { 'X-Key': 'k1' },
          allowHosts: ['cdn.example'],
          disabled: false,
          brought: ['k1'],
        },
      ],
      peers: ['research', 'docs', '42'],
      policy: {
        preset: 'team',
        shadow: false,
        rules: [
          { match: ['42/delete_*'], effect: 'ask', approver: 'operator', ttlMs: 600_000 },
          {
            match: ['docs/*', '*/list'],
            except: ['docs/x'],
            kind: ['tool'],
            groups: ['writers'],
            when: "risk != 'read'",
            effect: 'allow',
            risk: 'read',
          },
        ],
      },
      acceptance: new Map([
        [
          'research',
          {
            mediaTypes: ['text/markdown'],
            required: ['report.md'],
            maxBytes: 1000,
            citations: { resolveWith: 'docs/read' },
          },
        ],
      ]),
      publish: [
        {
          name: 'desk',
          description: 'Finds things',
          skills: [
            { id: 'find', route: { peer: 'docs', capability: 'search_documents' }, text: 'query' },
          ],
        },
      ],
      names: 'as-is',
      lists: 'strict',
      tokens: [
        { principal: 'alice', token: 't-alice', groups: ['writers'] },
        { principal: 'bob', token: 'k1', groups: [] },
      ],
      listen: {
        host: '0.0.0.0',
        port: 0,
        url: 'https://gw.example/comity',
        hosts: ['gw-internal', '::1', '[2001:db8::1]'],
      },
      tasks: {},
      store: join(folder, 'data/comity.db'),
      ignored: [],
    })
  })

  test('without a policy, names, listen and store the defaults hold', () => {
    const config = load('mcpServers: { files: { command: npx } }')
    expect(config.policy).toEqual({ preset: 'personal', shadow: false, rules: [] })
    expect(config.names).toBe('prefixed')
    expect(config.lists).toBe('partial')
    expect(config.listen).toEqual({ host: '127.0.0.1', port: 7878, hosts: [] })
    expect('tokens' in config).toBe(false)
  })

  test('the store lies in the state directory under a hash of the real path, whichever link named the file', () => {
    writeFileSync(join(folder, 'real.yaml'), 'mcpServers: { files: { command: npx } }')
    symlinkSync(join(folder, 'real.yaml'), join(folder, 'link.yaml'))
    const key = createHash('sha256').update(join(folder, 'real.yaml')).digest('hex').slice(0, 16)
    const expected = join(folder, '.local/state/comity', key, 'comity.db')
    expect(loadConfig(join(folder, 'link.yaml'), { HOME: folder }).store).toBe(expected)
    expect(loadConfig(join(folder, 'real.yaml'), { HOME: folder }).store).toBe(expected)
    expect(
      loadConfig(join(folder, 'real.yaml'), { HOME: folder, XDG_STATE_HOME: '/var/state' }).store,
    ).toBe(join('/var/state/comity', key, 'comity.db'))
  })

  test('keys of other hosts are accepted and reported with line and reason', () => {
    const config = load(`mcpServers:
  files:
    type: stdio
    command: npx
    autoApprove: [read_file]
    timeout: 60
    envFile: .env
    args: ["\${workspaceFolder}"]
  old: { command: npx, env: { T: "\${env:NOT_SET}" }, disabled: true }
  older: { command: npx, enabled: false }
`)
    expect(config.ignored.map(({ path, line }) => [path, line])).toEqual([
      ['mcpServers.files.type', 3],
      ['mcpServers.files.autoApprove', 5],
      ['mcpServers.files.timeout', 6],
      ['mcpServers.files.envFile', 7],
      ['mcpServers.old', 9],
      ['mcpServers.older', 10],
      ['mcpServers.files.args[0]', 8],
    ])
    expect(config.mcpServers.map(({ name, disabled }) => [name, disabled])).toEqual([
      ['files', false],
      ['old', true],
      ['older', true],
    ])
    expect(config.mcpServers[0]).toMatchObject({ args: ['${workspaceFolder}'] })
  })

  test('a reference is expanded once: what comes out is not looked at again', () => {
    const config = load('mcpServers: { a: { command: x, args: ["${env:A}", "-${env:B}-"] } }', {
      A: '${env:B}',
      B: 'b',
    })
    expect(config.mcpServers[0]).toMatchObject({ args: ['${env:B}', '-b-'] })
  })

  test('what references brought is told by peer; what every server is given anyway is not', () => {
    writeFileSync(join(folder, 'key'), 'k\n')
    const text = `
mcpServers:
  a: { command: x, args: ["\${env:HOME}/d", "--t=\${env:T}", "\${file:key}"], env: { P: plain } }
  c: { url: "https://c.example/\${env:T}", headers: { A: "Bearer \${env:U}" } }
  d: { command: x, args: [plain] }
`
    const config = load(text, { T: 'tt', U: 'uu' })
    expect(config.mcpServers.map(({ brought }) => brought)).toEqual([['tt', 'k'], ['tt', 'uu'], []])
  })

  test('only the last line end of a file is taken off', () => {
    writeFileSync(join(folder, 'two'), ' x \n\n')
    const config = load('mcpServers: { a: { command: x, args: ["${file:two}"] } }')
    expect(config.mcpServers[0]).toMatchObject({ args: [' x \n'] })
  })

  test('an anchor and its alias are one value', () => {
    const config = load(`mcpServers:
  a: { command: x, env: &shared { B: "1" } }
  c: { command: y, env: *shared }
`)
    expect(config.mcpServers[1]).toMatchObject({ env: { B: '1' } })
  })
})

describe('mistakes', () => {
  test('all are told at once, each with path, line, accepted form and what came', () => {
    const message = mistakesOf(`mcpServers:
  docs:
    comand: npx
    args: [1, two]
    revision: 2024-01-01
    capabilities: { tool: true, logging: sometimes }
  both: { command: x, url: "https://x.example" }
  delegate: { command: x }
agents:
  both: { card: "ftp://x" }
policy:
  preset: teams
  rules:
    - { match: dcos/*, effect: allow }
    - { match: docs, effect: allow }
    - { match: [], effect: deny }
    - { match: docs/*, effect: ask, ttl: soon, when: "foo == 1" }
    - { match: docs/* }
names: 3
lists: all
listem: {}
`)
    expect(message.split('\n').slice(1)).toEqual([
      '  mcpServers.docs (line 2): expected command (a program to start) or url (a server to reach), got neither',
      '  mcpServers.docs.comand (line 3): not a key that comity knows; did you mean command? expected command, args, env, cwd, url, headers, auth, revision, canary, capabilities, stateless, timeouts, trust, disabled',
      '  mcpServers.docs.args[0] (line 4): expected text; put numbers, true and false in quotes; got a number (not shown)',
      '  mcpServers.docs.revision (line 5): expected one of: 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05; got "2024-01-01"',
      '  mcpServers.docs.capabilities.logging (line 6): expected true or false; got "sometimes"',
      '  mcpServers.docs.capabilities.tool (line 6): not a key that comity knows; did you mean tools? expected tools, resources, prompts, completions, logging, elicitation, sampling, roots',
      '  mcpServers.both (line 7): expected command (a program to start) or url (a server to reach), got both',
      "  mcpServers.delegate (line 8): expected a name other than delegate, task, comity: comity's own tools begin with those",
      '  agents.both (line 10): expected a name that mcpServers does not have: both share one name space',
      '  agents.both.card (line 10): expected an http:// or https:// URL, got text that is none',
      '  policy.preset (line 12): expected one of: personal, team; got "teams"',
      '  policy.rules[0].match (line 14): no peer of this file is called "dcos" (the part before the first /); did you mean docs/*?',
      '  policy.rules[1].match (line 15): expected peer/capability, such as docs/*; got "docs"',
      '  policy.rules[2].match (line 16): expected at least one entry: an empty list matches nothing; remove the rule or the key',
      '  policy.rules[3].when (line 17): not a CEL condition over principal, peer, capability, kind, risk and arguments: Unknown variable: foo',
      '  policy.rules[3].ttl (line 17): expected a duration from 1s to 7d, such as 15m; got "soon"',
      '  policy.rules[4] (line 18): expected effect (allow, ask or deny) or risk; the rule says nothing',
      '  names (line 19): expected one of: prefixed, as-is; got 3',
      '  lists (line 20): expected one of: partial, strict; got "all"',
      '  listem (line 21): not a key that comity knows; did you mean listen? expected mcpServers, agents, policy, acceptance, publish, names, lists, tasks, tokens, listen, store',
    ])
  })

  test.each([
    ['{ call: soon }', 'call', '"soon"'],
    ['{ idle: 0s }', 'idle', '"0s"'],
    ['{ call: 2d }', 'call', '"2d"'],
  ])('timeouts: %s is no time-out', (text, key, said) => {
    expect(mistakesOf(`mcpServers: { a: { command: x, timeouts: ${text} } }`)).toContain(
      `mcpServers.a.timeouts.${key} (line 1): expected a duration from 1s to 1d, such as 90s or 10m; got ${said}`,
    )
  })

  test.each([
    ['profiles: {}', 'profiles'],
    ['budgets: {}', 'budgets'],
    ['sandbox: required', 'sandbox'],
    ['auth: { oauth: {} }', 'auth'],
    ['keys: ./jwks', 'keys'],
    ['mcpServers: { a: { command: x, sandbox: required } }', 'mcpServers.a.sandbox'],
    ['agents: { a: { card: "https://x", auth: {} } }', 'agents.a.auth'],
    ['agents: { a: { card: "https://x", keys: ./k } }', 'agents.a.keys'],
    ['store: postgres://u:hunter2@db/x', 'store'],
  ])('%s is not in this version', (text, path) => {
    const message = mistakesOf(text)
    expect(message).toContain('has one mistake')
    expect(message).toContain(`  ${path} (line 1): `)
    expect(message).toContain('not in this version')
    expect(message).not.toContain('hunter2')
  })

  test.each([
    [
      'acceptance: { nobody: { required: [x] } }',
      'expected an agent under agents (there are none)',
    ],
    ['publish: { d: { description: x, skills: { f: { route: nodocs/x } } } }', 'expected a server'],
    ['publish: { d: { description: x, skills: { f: { route: search } } } }', 'expected peer/tool'],
    ['publish: { d: { description: x, skills: {} } }', 'expected at least one skill'],
    ['listen: { host: 0.0.0.0 }', 'as long as there is no tokens section'],
    ['listen: { url: "https://gw.example" }', 'as long as there is no tokens section'],
    ['listen: { hosts: [localhost, gw.example] }', 'listen.hosts[1] (line 1)'],
    ['listen: { url: gw.example }', 'expected an http:// or https:// URL'],
    ['listen: { url: "http://localhost/?a" }', 'without query and fragment'],
    ['listen: { hosts: ["localhost:7878"] }', 'without scheme, port or path'],
    ['listen: { hosts: gw.example }', 'expected a list of host names'],
    ['listen: { port: 70000 }', 'expected a port from 0 to 65535; got 70000'],
    ['tokens: {}', 'expected at least one principal'],
    ['tokens:', 'expected a mapping from principals to { token, groups }; got an empty value'],
    ['tokens: { local: { token: abc } }', 'expected a principal other than local, operator'],
    ['mcpServers: { "a b": { command: x } }', 'expected a name of 1 to 40 letters'],
    ['mcpServers: { a: { url: "https://u:p@x" } }', 'without user name and password'],
    ['mcpServers: { a: { url: "https://x", headers: { Host: y } } }', 'sets this header itself'],
    ['mcpServers: { a: { url: "https://x", args: [y] } }', 'args has no meaning beside url'],
    ['mcpServers: { a: { command: "${env:X}" , url: "x" } }', 'got both'],
    ['store: mysql://x', 'expected sqlite or sqlite:<file>'],
    ['', 'expected a mapping with mcpServers'],
    ['[1]', 'expected a mapping with mcpServers'],
    ['a: [', 'not valid YAML'],
    ['names: as-is\nnames: prefixed', 'this key stands twice'],
    ['names: !secret x', 'a tag (!...) is used'],
    ['---\nnames: as-is\n---\nnames: as-is', 'a second document begins here'],
    ['a: &a [*a]', 'stands inside what it names'],
    [`a: &a x\nb: [${'*a, '.repeat(101)}]`, 'expected at most 100 uses of aliases'],
    ['a: *nothing', 'an alias (*name) has no anchor'],
  ])('%j is refused', (text, expected) => {
    expect(mistakesOf(text)).toContain(expected)
  })

  test('a rule of a policy may not use what only means something elsewhere', () => {
    const rules = (rule: string): string =>
      mistakesOf(`{ mcpServers: { docs: { command: x } }, policy: { rules: [ ${rule} ] } }`)
    expect(rules('{ match: docs/*, effect: deny, ttl: 5m }')).toContain('only beside effect: ask')
    expect(rules('{ match: docs/*, effect: ask, ttl: 30d }')).toContain('from 1s to 7d')
    expect(rules('{ match: docs/*, effect: deny, when: "1 + 1" }')).toContain('this one is int')
    expect(rules(`{ match: docs/*, effect: deny, when: "peer.matches('(?=a)')" }`)).toContain('RE2')
    expect(rules('{ match: docs/*, effect: deny, approver: caller }')).toContain('one of: operator')
  })

  test('invalid UTF-8, a folder, a missing file and an oversize file are told apart', () => {
    expect(mistakesOf(new Uint8Array([0x61, 0xff]))).toContain('expected UTF-8 text')
    expect(mistakesOf(`#${'x'.repeat(1024 * 1024)}`)).toContain('expected at most 1048576 bytes')
    mkdirSync(join(folder, 'dir'))
    expect(checkConfig(join(folder, 'dir'), {})).toMatchObject({
      mistakes: [{ message: 'expected a file, this is none' }],
    })
    expect(checkConfig(join(folder, 'none'), {})).toMatchObject({
      mistakes: [{ message: 'cannot be read (ENOENT)' }],
    })
  })

  test('a key that no plain object can hold is a mistake with its line', () => {
    expect(() => load('mcpServers:\n  __proto__: { command: x }\n')).toThrow(/line 2.*__proto__/)
  })

  test('aliases that multiply are stopped', () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x]']
    for (let index = 1; index < 9; index++) {
      lines.push(`a${index}: &a${index} [${`*a${index - 1}, `.repeat(9)}]`)
    }
    expect(mistakesOf(lines.join('\n'))).toContain('aliases')
  })

  test('a file nested without end is refused', () => {
    expect(mistakesOf('['.repeat(20_000))).toContain('nested too deeply')
    expect(mistakesOf(`${'['.repeat(3000)}${']'.repeat(3000)}`)).toContain('comity.yaml has ')
  })

  test('a missing reference is told once, with its name and without judging the value', () => {
    const message = mistakesOf(
      `mcpServers:
  a: { url: "\${env:NO_URL}", headers: { Authorization: "Bearer \${file:./none}" } }
tokens: { alice: { token: "\${env:no such}" } }`,
    )
    expect(message.split('\n').slice(1)).toEqual([
      '  mcpServers.a.url (line 2): the environment variable NO_URL is not set where comity runs',
      `  mcpServers.a.headers.Authorization (line 2): the file ${join(folder, 'none')} cannot be read (ENOENT)`,
      '  tokens.alice.token (line 3): ${env:...} expects the name of an environment variable',
    ])
  })

  test('no message holds a value of env, headers, tokens, args or urls', () => {
    const secret = 'sk-very-secret-value'
    const texts = [
      `mcpServers: { a: { command: x, env: { A: ["${secret}"] } } }`,
      `mcpServers: { a: { command: x, env: "${secret}" } }`,
      `mcpServers: { a: { command: x, args: "${secret}" } }`,
      `mcpServers: { a: { url: "${secret}" } }`,
      `mcpServers: { a: { url: "https://x", headers: { A: "${secret}\\n" } } }`,
      `mcpServers: { a: { url: "https://x", headers: "${secret}" } }`,
      `tokens: { alice: "${secret}" }`,
      `tokens: { alice: { token: "${secret}" }, bob: { token: "${secret}" } }`,
      `tokens: { alice: { token: "${secret} " } }`,
      `tokens: { "${secret}": alice }`,
      `tokens: { alice: { token: a, groups: "${secret}" } }`,
      `tokens: { alice: { token: "${secret}" }\nx: [`,
      `mcpServers: { a: { command: x, env: { A: "${secret}" } "b" } }`,
      `mcpServers:\n  a:\n    env:\n      A: "x" ${secret}\n`,
      `mcpServers:\n  a:\n    env:\n      A: *${secret}\n`,
      `mcpServers:\n  a:\n    env:\n      A: !${secret} x\n`,
    ]
    for (const text of texts) expect(mistakesOf(text), text).not.toContain(secret)
  })

  test('any bytes either load or are refused by config_invalid, never otherwise', () => {
    const keys = fc.constantFrom(
      'mcpServers',
      'agents',
      'policy',
      'rules',
      'tokens',
      'a',
      'command',
    )
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom(null, true, 1, '', 'x', '__proto__', '${env:A}'),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(fc.oneof(keys, fc.string()), tie('tree'), { maxKeys: 3 }),
      ),
    }))
    const text = fc.oneof(
      tree.map((value) => JSON.stringify(value)),
      fc.string(),
    )
    fc.assert(
      fc.property(text, (yaml) => {
        const file = join(folder, 'comity.yaml')
        writeFileSync(file, yaml)
        const checked = checkConfig(file, { HOME: folder })
        if ('mistakes' in checked) expect(checked.mistakes.length).toBeGreaterThan(0)
      }),
      { numRuns: 300 },
    )
  })
})
