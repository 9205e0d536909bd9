/** The peer as others start it: a process, over HTTP and stdio, spoken to by the official clients. */
import {
  Client,
  StreamableHTTPClientTransport,
  type ClientOptions,
} from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import type { Era } from './server.ts'

const MAIN = join(import.meta.dirname, 'main.ts')
const MODERN = '2026-07-28'
const LEGACY = '2025-11-25'

type Transport = 'stdio' | 'http'

/** Starts the peer over HTTP. */
async function start(era: Era): Promise<{ child: ChildProcess; url: URL }> {
  const child = spawn(process.execPath, [MAIN, '--http', '0', '--era', era], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return { child, url: new URL(line) }
}

/** A caller that is closed when the test ends. @param mode `auto` asks for 2026-07-28 first. */
async function connect(
  transport: Transport,
  era: Era,
  mode: 'auto' | 'legacy',
  options: ClientOptions = {},
): Promise<Client> {
  const client = new Client(
    { name: 'caller', version: '0.0.0' },
    { versionNegotiation: { mode }, ...options },
  )
  onTestFinished(() => client.close())
  await client.connect(
    transport === 'http'
      ? new StreamableHTTPClientTransport((await start(era)).url)
      : new StdioClientTransport({
          command: process.execPath,
          args: [MAIN, '--stdio', '--era', era],
        }),
  )
  return client
}

async function textOf(client: Client, name: string, args = {}): Promise<unknown> {
  const { content } = await client.callTool({ name, arguments: args })
  return content[0]?.type === 'text' ? content[0].text : content[0]
}

const BOTH: readonly Transport[] = ['stdio', 'http']

test.each(
  BOTH.flatMap((transport) =>
    (
      [
        ['dual', 'auto', MODERN],
        ['dual', 'legacy', LEGACY],
        ['modern', 'auto', MODERN],
        ['legacy', 'auto', LEGACY],
        ['legacy', 'legacy', LEGACY],
      ] as const
    ).map(([era, mode, revision]) => ({ transport, era, mode, revision })),
  ),
)(
  'over $transport a peer that is $era speaks $revision to a caller that is $mode',
  async ({ transport, era, mode, revision }) => {
    const client = await connect(transport, era, mode)
    expect(client.getNegotiatedProtocolVersion()).toBe(revision)
    expect(await textOf(client, 'test_simple_text')).toMatch(/^This is a simple text/u)
  },
)

test.each(BOTH)('over %s a peer that is modern refuses an old caller', async (transport) => {
  await expect(connect(transport, 'modern', 'legacy')).rejects.toThrow(/version/iu)
})

test.each(
  BOTH.flatMap((transport) => [[transport, 'auto'] as const, [transport, 'legacy'] as const]),
)('over %s a caller that is %s is asked, and its answer arrives', async (transport, mode) => {
  const client = await connect(transport, 'dual', mode, { capabilities: { elicitation: {} } })
  client.setRequestHandler('elicitation/create', () => ({
    action: 'accept',
    content: { name: 'Ada' },
  }))
  expect(await textOf(client, 'test_input_required_result_elicitation')).toBe('Hello, Ada!')
})

test.each(
  BOTH.flatMap((transport) => [[transport, 'auto'] as const, [transport, 'legacy'] as const]),
)(
  'over %s a caller that is %s is told of a tool that came and of a resource that changed',
  async (transport, mode) => {
    const client = await connect(transport, 'dual', mode)
    const heard = (
      method: 'notifications/tools/list_changed' | 'notifications/resources/updated',
    ) =>
      new Promise<unknown>((resolve) => {
        client.setNotificationHandler(method, ({ params }) => resolve(params))
      })
    const listed = heard('notifications/tools/list_changed')
    const updated = heard('notifications/resources/updated')
    const uri = 'test://watched-resource'
    if (mode === 'legacy') await client.subscribeResource({ uri })
    else await client.listen({ toolsListChanged: true, resourceSubscriptions: [uri] })

    await textOf(client, 'test_trigger_tool_change')
    await listed
    expect(await textOf(client, 'test_extra_tool')).toBe('I am here.')

    await textOf(client, 'test_trigger_resource_change')
    expect(await updated).toMatchObject({ uri })
    const { contents } = await client.readResource({ uri })
    expect(contents[0]).toMatchObject({ text: 'Version 2' })
  },
)

test.each(['2025-11-25', '2025-06-18', '2025-03-26'])(
  'a session agrees on %s when that is what its caller speaks',
  async (protocolVersion) => {
    const { url } = await start('dual')
    const clientInfo = { name: 'caller', version: '0.0.0' }
    const params = { protocolVersion, capabilities: {}, clientInfo }
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
    })
    const text = await response.text()
    expect(response.headers.get('mcp-session-id')).toMatch(/^[\x21-\x7e]+$/u)
    expect(text).toContain(`"protocolVersion":"${protocolVersion}"`)
  },
)

test.each(['SIGTERM', 'the end of its standard input'] as const)('ends on %s', async (how) => {
  const { child } = await start('dual')
  const ended = once(child, 'exit')
  if (how === 'SIGTERM') child.kill('SIGTERM')
  else child.stdin?.end()
  expect(await ended).toEqual([0, null])
})

test.each([
  [['--http', '0', '--stdio'], 'expected --http <port> or --stdio, one of them'],
  [['--http', '70000'], '--http takes a port from 0 to 65535, got 70000'],
  [['--stdio', '--era', 'old'], '--era is modern, legacy, dual, got old'],
] as const)('says what is wrong with %j', async (args, words) => {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['pipe', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  const [code] = (await once(child, 'close')) as [number]
  expect(code).toBe(1)
  expect(said).toContain(words)
})
