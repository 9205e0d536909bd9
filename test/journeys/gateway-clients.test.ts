/**
 * The official SDK clients of both eras use the official servers through comity, over HTTP and stdio.
 */
import { Client as ModernClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as V1Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as V1Stdio } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as V1Http } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport as V1Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { mkdirSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  comity,
  comityCommand,
  createHome,
  docsServer,
  type Home,
  official,
  openTerminal,
  type Running,
  startEverythingOverHttp,
  startUp,
  type Up,
  until,
} from './comity-process.fixture.ts'

const INFO = { name: 'journey', version: '0' }
const LONG = { timeout: 60_000 }
const WHOLE = 'retention: contracts are kept ten years\n'

const WANTED = [
  'everything_echo',
  'web_echo',
  'files_read_text_file',
  'memory_create_entities',
  'docs_search_documents',
]

interface Called {
  readonly content: { readonly type: string; readonly text?: string; readonly data?: string }[]
  readonly structuredContent?: Record<string, unknown>
  readonly isError?: boolean
  readonly _meta?: Record<string, unknown>
}

/** What both official clients can do, alike. */
interface AnyClient {
  tools(): Promise<{ name: string }[]>
  resources(): Promise<string[]>
  templates(): Promise<string[]>
  prompts(): Promise<string[]>
  read(uri: string): Promise<{ text?: string }>
  prompt(name: string, args: Record<string, string>): Promise<unknown>
  call(
    name: string,
    args: Record<string, unknown>,
    options?: { onprogress?: (news: { progress: number }) => void; signal?: AbortSignal },
  ): Promise<Called>
  close(): Promise<void>
}

let everything: { url: string; running: Running }
let httpHome: Home
let stdioHome: Home
let up: Up

beforeAll(async () => {
  everything = await startEverythingOverHttp()
  httpHome = prepareHome()
  stdioHome = prepareHome()
  up = await startUp(httpHome)
}, 60_000)

afterAll(async () => {
  await up?.stop()
  await everything?.running.stop('SIGKILL')
  httpHome?.remove()
  stdioHome?.remove()
})

function prepareHome(): Home {
  const home = createHome()
  mkdirSync(home.path('shelf'))
  mkdirSync(home.path('handbook'))
  writeFileSync(home.path('shelf/notes.txt'), WHOLE)
  writeFileSync(home.path('handbook/rules.md'), '# Retention\n\nContracts are kept ten years.\n')
  home.configure({
    mcpServers: {
      everything: official('everything', 'stdio'),
      web: { url: everything.url },
      files: official('filesystem', home.path('shelf')),
      memory: {
        ...official('memory'),
        env: { MEMORY_FILE_PATH: home.path('memory.jsonl') },
      },
      docs: docsServer(home.path('handbook')),
    },
  })
  return home
}

async function modern(
  transport: StdioClientTransport | StreamableHTTPClientTransport,
): Promise<AnyClient> {
  const client = new ModernClient(INFO, {
    versionNegotiation: { mode: 'auto' },
    capabilities: { elicitation: { form: {} } },
  })
  client.setRequestHandler('elicitation/create', () => ({
    action: 'accept',
    content: { language: 'zh' },
  }))
  await client.connect(transport)
  expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28')
  return {
    tools: async () => (await client.listTools()).tools,
    resources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    templates: async () =>
      (await client.listResourceTemplates()).resourceTemplates.map((one) => one.uriTemplate),
    prompts: async () => (await client.listPrompts()).prompts.map(({ name }) => name),
    read: async (uri) => (await client.readResource({ uri })).contents[0] as { text?: string },
    prompt: (name, args) => client.getPrompt({ name, arguments: args }),
    call: async (name, args, options) =>
      (await client.callTool({ name, arguments: args }, { ...LONG, ...options })) as Called,
    close: () => client.close(),
  }
}

async function v1(transport: V1Transport): Promise<AnyClient> {
  const client = new V1Client(INFO)
  await client.connect(transport)
  return {
    tools: async () => (await client.listTools()).tools,
    resources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    templates: async () =>
      (await client.listResourceTemplates()).resourceTemplates.map((one) => one.uriTemplate),
    prompts: async () => (await client.listPrompts()).prompts.map(({ name }) => name),
    read: async (uri) => (await client.readResource({ uri })).contents[0] as { text?: string },
    prompt: (name, args) => client.getPrompt({ name, arguments: args }),
    call: async (name, args, options) =>
      (await client.callTool({ name, arguments: args }, undefined, {
        ...LONG,
        ...options,
      })) as Called,
    close: () => client.close(),
  }
}

const endpoint = (): URL => new URL('/mcp', up.url)
const pipe = (): ConstructorParameters<typeof StdioClientTransport>[0] => ({
  ...(comityCommand(stdioHome, 'mcp', '--standalone') as { command: string }),
  args: [...comityCommand(stdioHome, 'mcp', '--standalone').args],
  env: { ...stdioHome.env },
  stderr: 'ignore',
})

const CLIENTS = {
  'v2 over HTTP': () => modern(new StreamableHTTPClientTransport(endpoint())),
  'v1 over HTTP': () => v1(new V1Http(endpoint()) as V1Transport),
  'v2 over stdio': () => modern(new StdioClientTransport(pipe())),
  'v1 over stdio': () => v1(new V1Stdio(pipe() as ConstructorParameters<typeof V1Stdio>[0])),
} as const

describe.each(Object.entries(CLIENTS))('the official client %s', (kind, connect) => {
  let client: AnyClient
  beforeAll(async () => {
    client = await connect()
  }, 60_000)
  afterAll(() => client?.close())

  test('lists what the three official servers and the documents server offer', async () => {
    // A list waits a second for peers that are still starting; five real servers may need more.
    const tools = await until('every server is listed', async () => {
      const names = (await client.tools()).map(({ name }) => name)
      return WANTED.every((name) => names.includes(name)) ? names : undefined
    })
    expect(tools.every((name) => /^[A-Za-z0-9_-]{1,64}$/u.test(name))).toBe(true)
    expect(await client.prompts()).toEqual(
      expect.arrayContaining(['everything_simple-prompt', 'web_args-prompt']),
    )
    expect(await client.templates()).toContain('docs://{+document}')
    const resources = await client.resources()
    expect(resources).toContain('docs://handbook/rules.md')
    // The same server twice: the first keeps its URIs, the second has scoped ones.
    const own = resources.filter((uri) => uri.startsWith('demo://'))
    const scoped = resources.filter((uri) => uri.startsWith('comity://web/'))
    expect(own.length).toBeGreaterThan(0)
    expect(scoped).toHaveLength(own.length)
  })

  test('calls tools of each', async () => {
    const echo = await client.call('everything_echo', { message: '茶 🍵' })
    expect(echo.content).toEqual([{ type: 'text', text: 'Echo: 茶 🍵' }])
    const sum = await client.call('web_get-sum', { a: 2, b: 40 })
    expect(sum.content[0]?.text).toBe('The sum of 2 and 40 is 42.')
    const weather = await client.call('everything_get-structured-content', {
      location: 'Chicago',
    })
    expect(weather.structuredContent).toMatchObject({ temperature: expect.any(Number) })
    const image = await client.call('everything_get-tiny-image', {})
    expect(image.content.map(({ type }) => type)).toContain('image')

    const home = kind.endsWith('HTTP') ? httpHome : stdioHome
    const file = await client.call('files_read_text_file', { path: home.path('shelf/notes.txt') })
    expect(file.content[0]?.text).toBe(WHOLE)
    const outside = await client.call('files_read_text_file', { path: '/etc/hostname' })
    expect(outside).toMatchObject({ isError: true })

    const entity = { name: kind, entityType: 'client', observations: ['was here'] }
    await client.call('memory_create_entities', { entities: [entity] })
    const graph = await client.call('memory_search_nodes', { query: kind })
    expect(graph.structuredContent).toMatchObject({ entities: [entity] })

    const found = await client.call('docs_search_documents', { query: 'contracts' })
    expect(found.structuredContent).toMatchObject({ hits: [{ document: 'handbook/rules.md' }] })
  })

  test('reads resources, listed and by template, and gets prompts', async () => {
    expect((await client.read('docs://handbook/rules.md')).text).toContain('kept ten years')
    const [own = ''] = (await client.resources()).filter((uri) => uri.startsWith('demo://'))
    const [scoped = ''] = (await client.resources()).filter((uri) =>
      uri.startsWith('comity://web/'),
    )
    expect(await client.read(scoped)).toMatchObject({ text: (await client.read(own)).text })
    expect((await client.read('demo://resource/dynamic/text/7')).text).toContain('Resource 7')
    await expect(client.read('nowhere://at/all')).rejects.toMatchObject({ code: -32602 })
    expect(await client.prompt('everything_args-prompt', { city: 'Oslo' })).toMatchObject({
      messages: [{ role: 'user', content: { text: expect.stringContaining('Oslo') } }],
    })
  })

  test('R037: refusals are results that a model can read; an unknown name is -32602', async () => {
    const bad = await client.call('everything_get-sum', { a: 'two', b: 1 })
    expect(bad).toMatchObject({
      isError: true,
      _meta: { 'comity/outcome': { state: 'failed', ran: 'no', callId: expect.any(String) } },
    })
    expect(bad.content[0]?.text).toContain('a')
    await expect(client.call('everything_absent', {})).rejects.toMatchObject({ code: -32602 })
  })

  test('hears of progress, and can call off', async () => {
    const heard: number[] = []
    const done = await client.call(
      'everything_trigger-long-running-operation',
      { duration: 0.6, steps: 3 },
      { onprogress: ({ progress }) => heard.push(progress) },
    )
    expect(done.content[0]?.text).toContain('Long running operation completed')
    // The official clients drop progress that arrives in one read with the result that follows it.
    expect(heard.length).toBeGreaterThanOrEqual(2)
    expect(heard).toEqual([1, 2, 3].slice(0, heard.length))

    const stop = new AbortController()
    const began = Date.now()
    const stopped = client.call(
      'everything_trigger-long-running-operation',
      { duration: 30, steps: 60 },
      { onprogress: () => stop.abort(), signal: stop.signal },
    )
    await expect(stopped).rejects.toThrow()
    expect(Date.now() - began).toBeLessThan(10_000)
    expect((await client.call('everything_echo', { message: 'on' })).content[0]?.text).toBe(
      'Echo: on',
    )
  })
})

test('R055, R062: a question of the documents server reaches the v2 client, and its answer goes back', async () => {
  const client = await CLIENTS['v2 over HTTP']()
  const report = await client.call('docs_export_report', { document: 'handbook/rules.md' })
  await client.close()
  expect(report.structuredContent).toMatchObject({ language: 'zh' })
  expect(report.content[0]?.text).toContain('文档报告')
})

test('R062: at a terminal a person is asked which language, and the report comes in it', async ({
  skip,
}) => {
  const words = ['call', 'docs/export_report', '{"document":"handbook/rules.md"}']
  const terminal = await openTerminal(httpHome, words)
  if (terminal === undefined) return skip('neither script(1) nor Python is here to make a terminal')
  await until('the question', () => terminal.stdout().includes('zh | en') || undefined)
  terminal.type('zh\n')
  const { code, stdout } = await terminal.ended
  expect(code).toBe(0)
  expect(stdout).toContain('the peer asks:')
  expect(stdout).toContain('文档报告')
}, 60_000)

test('a call that its caller called off is on record as such, with all the others', async () => {
  const { stdout, code } = await comity(httpHome, 'ledger', '--verify', '--json', '--limit', '500')
  expect(code).toBe(0)
  const { entries, verified } = JSON.parse(stdout) as {
    entries: { kind: string; facts: Record<string, unknown> }[]
    verified: { ok: boolean }
  }
  expect(verified.ok).toBe(true)
  const stopped = entries.filter((entry) =>
    JSON.stringify(entry.facts).includes('cancel_unconfirmed'),
  )
  expect(stopped).toHaveLength(2)
})
