import fc from 'fast-check'
import { parse } from 'smol-toml'
import { expect, test } from 'vitest'
import type { ServerList } from './server-list.ts'
import { readTomlServers } from './toml-servers.ts'

const TEXT = `# Codex
model = "o" # a [mcp_servers.fake] in a comment
notes = """
[mcp_servers.in_a_string]
"""
list = [
  "[mcp_servers.in_a_list]", # ]
]

[profiles.x]
y = 1

# docs, for reading
[mcp_servers.docs]
command = "npx"
args = ["-y", "docs-server"]
# its own comment
startup_timeout_sec = 20 # slow
# before the next

[mcp_servers.docs.env]
TOKEN = 'a"b'

[ mcp_servers . "two words" ]
url = "https://x.example/mcp"

[tools]
z = 2026-01-01
`

function read(text: string): ServerList {
  return readTomlServers(text) ?? expect.fail('no servers were found')
}

const without = (text: string, ...names: string[]): string =>
  read(text).replace({ remove: names, put: [] })

test('servers are tables of their own, with their tables; what only looks like one is none', () => {
  const { servers } = read(TEXT)
  expect(servers).toEqual([
    {
      name: 'docs',
      value: {
        command: 'npx',
        args: ['-y', 'docs-server'],
        startup_timeout_sec: 20,
        env: { TOKEN: 'a"b' },
      },
      text: `[mcp_servers.docs]
command = "npx"
args = ["-y", "docs-server"]
# its own comment
startup_timeout_sec = 20 # slow
[mcp_servers.docs.env]
TOKEN = 'a"b'
`,
    },
    {
      name: 'two words',
      value: { url: 'https://x.example/mcp' },
      text: '[ mcp_servers . "two words" ]\nurl = "https://x.example/mcp"\n',
    },
  ])
})

test('what goes is its tables, every other byte stays, comments around it too', () => {
  expect(without(TEXT, 'docs')).toBe(
    TEXT.replace(/\[mcp_servers\.docs\][^]*?slow\n/u, '').replace(
      /\[mcp_servers\.docs\.env\]\n.*\n/u,
      '',
    ),
  )
  const crlf = TEXT.replaceAll('\n', '\r\n')
  expect(without(crlf, 'docs', 'two words')).toBe(
    without(TEXT, 'docs', 'two words').replaceAll('\n', '\r\n'),
  )
  expect(without(`\uFEFF${TEXT}`, 'docs')).toBe(`\uFEFF${without(TEXT, 'docs')}`)
})

test('what comes is a table at the end, in the line ends of the file', () => {
  const list = read(TEXT)
  const entry = { command: '/a "b"\\c\u007F', args: ['mcp', '-c', '/ü'] }
  const text = list.replace({ remove: ['docs'], put: [['comity', list.write('comity', entry)]] })
  expect(text.startsWith(without(TEXT, 'docs'))).toBe(true)
  expect(text.slice(without(TEXT, 'docs').length)).toBe(
    '\n[mcp_servers.comity]\ncommand = "/a \\"b\\"\\\\c\\u007F"\nargs = ["mcp", "-c", "/ü"]\n',
  )
  expect(parse(text)['mcp_servers']).toEqual({
    'two words': { url: 'https://x.example/mcp' },
    comity: entry,
  })
  const crlf = read('[mcp_servers.a]\r\nurl = "u"')
  expect(crlf.replace({ remove: [], put: [['b', crlf.write('b', entry)]] })).toMatch(
    /"u"\r\n\r\n\[mcp_servers\.b\]\r\ncommand = .*\r\nargs = .*\r\n$/u,
  )
})

test('a server that is not written as tables of its own stays, and a list that is no table is left alone', () => {
  const { servers } = read(
    '[mcp_servers]\na = { command = "x" }\nb.command = "y"\n[mcp_servers.c]\ncommand = "z"\n',
  )
  expect(servers.map(({ name, fixed }) => [name, fixed !== undefined])).toEqual([
    ['a', true],
    ['b', true],
    ['c', false],
  ])
  const split = read(
    '[mcp_servers]\n[mcp_servers.c.env]\nA = "1"\n[mcp_servers.c]\ncommand = "z"\n',
  )
  expect(split.servers).toMatchObject([{ name: 'c', value: { command: 'z', env: { A: '1' } } }])
  for (const [text, words] of [
    ['mcp_servers = { a = { command = "x" } }', /not written as tables/u],
    ['mcp_servers = 1', /is no table/u],
    ['a = \n[x]', /^it is not TOML: line 1 cannot be read$/u],
    ['a = "secret', /^it is not TOML: line 1/u],
  ] as const) {
    expect(() => readTomlServers(text)).toThrow(words)
  }
  expect(readTomlServers('a = 1\n')).toBeUndefined()
})

test('a key called __proto__ is a key and changes nothing', () => {
  const { servers } = read(
    '[mcp_servers.a]\ncommand = "x"\n[mcp_servers.a.env]\n__proto__ = "1"\n[mcp_servers.__proto__]\ncommand = "y"\n',
  )
  expect(servers.map(({ name }) => name)).toEqual(['a', '__proto__'])
  expect({}).not.toHaveProperty('command')
})

const name = fc.oneof(
  fc.constantFrom('a', 'b-c', 'two words', 'dot.ted', '"q"', 'ü', ''),
  fc.string({ maxLength: 6 }),
)
const text = fc.string({ unit: 'grapheme', maxLength: 12 })
const value = fc.oneof(
  text.map((each) => JSON.stringify(each).replaceAll('\u007F', '\\u007F')),
  fc.constantFrom(
    "'''\n[x]\n'''",
    '"""a\n[mcp_servers.y]\n"""',
    '[\n1, # ]\n2]',
    '{ a = 1 }',
    '1979-05-27',
    '-7',
  ),
)
const body = fc.array(fc.tuple(fc.constantFrom('k1', 'k2', 'k3'), value), { maxLength: 3 })

test('any file: after servers went and came back the others mean what they meant', () => {
  const quoted = (key: string): string =>
    JSON.stringify(key.toWellFormed()).replaceAll('\u007F', '\\u007F')
  const lines = (entries: readonly (readonly [string, string])[]): string =>
    [...new Map(entries)].map(([key, item]) => `${key} = ${item}\n`).join('')
  fc.assert(
    fc.property(
      body,
      fc.uniqueArray(name, { minLength: 1, maxLength: 4, selector: (each) => each.toWellFormed() }),
      fc.array(body, { minLength: 4, maxLength: 4 }),
      fc.constantFrom('\n', '# c\n', '\n\n'),
      (top, names, bodies, gap) => {
        const whole =
          lines(top) +
          names
            .map(
              (each, index) => `${gap}[mcp_servers.${quoted(each)}]\n${lines(bodies[index] ?? [])}`,
            )
            .join('') +
          `${gap}[after]\nx = 1\n`
        const list = read(whole)
        const [gone, ...rest] = list.servers
        if (gone === undefined) return expect.fail('no server was found')
        const left = list.replace({ remove: [gone.name], put: [] })
        const meaning = JSON.stringify(parse(whole))
        if (rest.length > 0) {
          const back = read(left).replace({ remove: [], put: [[gone.name, gone.text]] })
          expect(sorted(parse(back))).toEqual(sorted(JSON.parse(meaning)))
        } else expect(parse(left)).not.toHaveProperty('mcp_servers')
      },
    ),
    { numRuns: 300 },
  )
})

function sorted(root: unknown): unknown {
  return JSON.parse(JSON.stringify(root))
}
