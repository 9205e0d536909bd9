/**
 * The documents server as official clients see it: both SDKs, both transports, both eras.
 */
import { Client as ModernClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as V1Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as V1Stdio } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as V1Http } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport as V1Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import {
  createFolder,
  DOCUMENTS,
  startHttp,
  startHttpServer,
  stdioCommand,
  TOKENS,
} from './documents-folder.ts'

const INFO = { name: 'journey', version: '0' }
const bearer = (token?: string): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` }

/** What the journeys use of a client, alike in all. */
interface AnyClient {
  readonly era: string | undefined
  tools(): Promise<string[]>
  resources(): Promise<string[]>
  templates(): Promise<string[]>
  read(uri: string): Promise<{ text?: string; _meta?: Record<string, unknown> }>
  call(name: string, args: Record<string, unknown>): Promise<Called>
  prompts(): Promise<string[]>
  prompt(name: string, args: Record<string, string>): Promise<unknown>
}

interface Called {
  readonly content: { readonly text: string }[]
  readonly structuredContent?: Record<string, unknown>
  readonly isError?: boolean
}

const DIGEST_D1 = `sha256:${createHash('sha256').update(DOCUMENTS['D1.md']).digest('hex')}`

async function modern(
  transport: StdioClientTransport | StreamableHTTPClientTransport,
  answer?: () => Record<string, unknown>,
): Promise<AnyClient> {
  const client = new ModernClient(INFO, {
    versionNegotiation: { mode: 'auto' },
    capabilities: answer === undefined ? {} : { elicitation: { form: {} } },
  })
  if (answer !== undefined) {
    client.setRequestHandler('elicitation/create', async (request) => {
      expect(request.params).toMatchObject({
        requestedSchema: { properties: { language: { enum: ['zh', 'en'] } } },
      })
      return answer() as { action: 'accept'; content: Record<string, string> }
    })
  }
  await client.connect(transport)
  onTestFinished(() => client.close())
  return {
    era: client.getNegotiatedProtocolVersion(),
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    resources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    templates: async () =>
      (await client.listResourceTemplates()).resourceTemplates.map(
        ({ uriTemplate }) => uriTemplate,
      ),
    read: async (uri) => (await client.readResource({ uri })).contents[0] ?? {},
    call: async (name, args) => (await client.callTool({ name, arguments: args })) as Called,
    prompts: async () => (await client.listPrompts()).prompts.map(({ name }) => name),
    prompt: async (name, args) => (await client.getPrompt({ name, arguments: args })).messages,
  }
}

async function v1(transport: V1Transport): Promise<AnyClient> {
  const client = new V1Client(INFO)
  await client.connect(transport)
  onTestFinished(() => client.close())
  return {
    era: undefined,
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    resources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    templates: async () =>
      (await client.listResourceTemplates()).resourceTemplates.map(
        ({ uriTemplate }) => uriTemplate,
      ),
    read: async (uri) => (await client.readResource({ uri })).contents[0] ?? {},
    call: async (name, args) => (await client.callTool({ name, arguments: args })) as Called,
    prompts: async () => (await client.listPrompts()).prompts.map(({ name }) => name),
    prompt: async (name, args) => (await client.getPrompt({ name, arguments: args })).messages,
  }
}

const CLIENTS = {
  'v2 over stdio': async (folder: string, as?: 'alice') =>
    modern(new StdioClientTransport({ ...stdioCommand(folder, as), stderr: 'pipe' })),
  'v2 over HTTP': async (folder: string, as?: 'alice') => {
    const requestInit = { headers: bearer(as && TOKENS[as]) }
    return modern(
      new StreamableHTTPClientTransport(new URL(await startHttp(folder)), { requestInit }),
    )
  },
  'v1 over stdio': async (folder: string, as?: 'alice') =>
    v1(new V1Stdio({ ...stdioCommand(folder, as), stderr: 'pipe' })),
  'v1 over HTTP': async (folder: string, as?: 'alice') => {
    const requestInit = { headers: bearer(as && TOKENS[as]) }
    return v1(new V1Http(new URL(await startHttp(folder)), { requestInit }) as V1Transport)
  },
}

test.each(Object.entries(CLIENTS))(
  'R166, R167, R042: %s finds D1 and D2, nowhere D4, and three answers differ',
  async (name, connect) => {
    const client = await connect(createFolder())
    if (name.startsWith('v2')) expect(client.era).toBe('2026-07-28')
    expect(await client.tools()).toEqual([
      'search_documents',
      'read_document',
      'export_report',
      'analyze_versions',
      'read_analysis',
    ])
    expect(await client.prompts()).toEqual([
      'compare_versions',
      'answer_with_citations',
      'summarise_document',
    ])
    expect(await client.prompt('summarise_document', { document: 'docs/D1.md' })).toMatchObject([
      { role: 'user', content: { type: 'text' } },
      { role: 'user', content: { type: 'resource', resource: { text: DOCUMENTS['D1.md'] } } },
    ])
    await expect(
      client.prompt('summarise_document', { document: 'docs/D4.md' }),
    ).rejects.toMatchObject({ code: -32602 })
    expect(await client.resources()).toEqual([
      'docs://docs/D1.md',
      'docs://docs/D2.txt',
      'docs://docs/D3.yaml',
    ])
    expect(await client.templates()).toEqual(['docs://{+document}'])

    const found = await client.call('search_documents', { query: 'retention of contracts' })
    expect(found.structuredContent).toMatchObject({
      query: 'retention of contracts',
      hits: [{ document: 'docs/D1.md', version: '1.2' }, { document: 'docs/D2.txt' }],
      truncated: false,
    })
    expect(JSON.parse(found.content[0]?.text ?? '')).toEqual(found.structuredContent)

    const nothing = await client.call('search_documents', { query: 'dispute' })
    expect(nothing.structuredContent).toMatchObject({ hits: [], truncated: false })
    const bad = await client.call('search_documents', { query: 'x', limit: 0 })
    expect(bad).toMatchObject({ isError: true })
    expect(bad.content[0]?.text).toContain('limit: ')
    const hidden = await client.call('read_document', { document: 'docs/D4.md' })
    const absent = await client.call('read_document', { document: 'docs/D9.md' })
    expect(hidden).toMatchObject({ isError: true })
    expect(hidden.content[0]?.text).toBe(absent.content[0]?.text.replace('D9', 'D4'))

    const whole = await client.call('read_document', { document: 'docs/D1.md' })
    const resource = await client.read('docs://docs/D1.md')
    expect(whole.structuredContent).toMatchObject({ digest: DIGEST_D1, totalLines: 6 })
    expect(resource).toMatchObject({
      text: DOCUMENTS['D1.md'],
      _meta: { digest: DIGEST_D1, version: '1.2' },
    })
    await expect(client.read('docs://docs/D4.md')).rejects.toMatchObject({ code: -32602 })

    const everything = JSON.stringify([found, nothing, bad, whole, resource])
    expect(everything).not.toMatch(/D4|secret-4|under dispute/u)
  },
)

test.each(Object.entries(CLIENTS))('R169: %s as alice sees D4', async (_, connect) => {
  const client = await connect(createFolder(), 'alice')
  const { structuredContent } = await client.call('search_documents', { query: 'dispute' })
  expect(structuredContent).toMatchObject({
    hits: [{ document: 'docs/D4.md', version: 'secret-4', lines: { start: 5, end: 7 } }],
  })
  expect(await client.resources()).toContain('docs://docs/D4.md')
})

test('R169: bob has a token, and it does not open what is for alice', async () => {
  const url = new URL(await startHttp(createFolder()))
  const requestInit = { headers: bearer(TOKENS.bob) }
  const client = await modern(new StreamableHTTPClientTransport(url, { requestInit }))
  expect(await client.resources()).not.toContain('docs://docs/D4.md')
  await expect(client.read('docs://docs/D4.md')).rejects.toMatchObject({ code: -32602 })
})

test('R062: a report without a language asks for it, and comes in the one that is answered', async () => {
  const folder = createFolder()
  const report = { document: 'docs/D1.md' }
  const url = new URL(await startHttp(folder))
  const zh = await modern(new StreamableHTTPClientTransport(url), () => ({
    action: 'accept',
    content: { language: 'zh' },
  }))
  const answered = await zh.call('export_report', report)
  expect(answered.structuredContent).toMatchObject({
    document: 'docs/D1.md',
    version: '1.2',
    digest: DIGEST_D1,
    language: 'zh',
    totalLines: 6,
    headings: [{ line: 4, level: 1, text: 'Retention of contracts' }],
  })
  expect(answered.content[0]?.text).toContain('# 文档报告：Retention of contracts')

  const stdio = new StdioClientTransport({ ...stdioCommand(folder), stderr: 'pipe' })
  const declining = await modern(stdio, () => ({ action: 'decline' }))
  expect(await declining.call('export_report', report)).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('was declined') }],
  })
})

test('a caller that cannot be asked is told to pass the language', async () => {
  const client = await CLIENTS['v1 over stdio'](createFolder())
  const refused = await client.call('export_report', { document: 'docs/D1.md' })
  expect(refused).toMatchObject({ isError: true })
  expect(refused.content[0]?.text).toContain('Call export_report again with language')
  const given = await client.call('export_report', { document: 'docs/D1.md', language: 'en' })
  expect(given.content[0]?.text).toContain('# Document report: Retention of contracts')
})

test('R063: the id of an analysis is good after the server is started again, and for nobody else', async () => {
  const folder = createFolder()
  const keyFile = join(folder, '..', 'docs.key')
  const versions = { from: { document: 'docs/D1.md' }, to: { document: 'docs/D2.txt' } }
  const first = await asPrincipal(folder, TOKENS.alice, keyFile)
  const { structuredContent: analysis } = await first.client.call('analyze_versions', versions)
  const page = { analysis_id: String(analysis?.['analysis_id']) }
  const before = await first.client.call('read_analysis', page)
  expect(before.structuredContent).toMatchObject({ from: { digest: DIGEST_D1 }, totalChanges: 1 })
  await first.stop()

  const again = await asPrincipal(folder, TOKENS.alice, keyFile)
  const after = await again.client.call('read_analysis', page)
  expect({ ...after.structuredContent, requestId: 0 }).toEqual({
    ...before.structuredContent,
    requestId: 0,
  })
  const bob = await asPrincipal(folder, TOKENS.bob, keyFile)
  const refused = await bob.client.call('read_analysis', page)
  expect(refused).toMatchObject({ isError: true })
  expect(refused.content[0]?.text).toContain('it was not given to you')

  writeFileSync(join(folder, 'D1.md'), DOCUMENTS['D1.md'].replace('ten', 'eleven'))
  const stale = await again.client.call('read_analysis', page)
  expect(stale.content[0]?.text).toContain('docs/D1.md changed since the analysis')
})

async function asPrincipal(
  folder: string,
  token: string,
  keyFile: string,
): Promise<{ readonly client: AnyClient; stop(): Promise<void> }> {
  const { url, stop } = await startHttpServer(folder, { keyFile })
  const requestInit = { headers: bearer(token) }
  return {
    client: await modern(new StreamableHTTPClientTransport(new URL(url), { requestInit })),
    stop,
  }
}
