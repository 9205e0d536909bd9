/**
 * comity as the suite's client under test: `node conformance-client.ts <server url>`, started by the
 * suite. A host in process takes the suite's server as its peer; an official client is its caller.
 *
 * What has to be done is named by MCP_CONFORMANCE_SCENARIO; what goes to the suite's server is
 * comity's upstream alone, after gate, ledger and dispatch. Logging in is conformance-auth.ts's.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createHost } from '../src/gateway/create-host.ts'
import { useWithLogins } from './conformance-auth.ts'
import { isLogin } from './conformance-requirements.ts'

type Caller = Client
type Scenario = (caller: Caller) => Promise<void>

/** Scenarios by the suite's names. One that only looks at how comity begins needs a list, no more. */
const SCENARIOS: Readonly<Record<string, Scenario>> = {
  initialize: listTools,
  'request-metadata': listTools,
  tools_call: (caller) => call(caller, 'add_numbers', { a: 5, b: 3 }),
  'elicitation-sep1034-client-defaults': (caller) =>
    call(caller, 'test_client_elicitation_defaults'),
  'sse-retry': (caller) => call(caller, 'test_reconnection'),
  'sep-2322-client-request-state': async (caller) => {
    // The second is also called while the first is asked about: see the handler in openCaller.
    await call(caller, 'test_mrtr_echo_state')
    await call(caller, 'test_mrtr_unrelated')
    await call(caller, 'test_mrtr_no_state')
    await call(caller, 'test_mrtr_no_result_type')
  },
  'http-standard-headers': callEverything,
  'http-custom-headers': async (caller) => {
    for (const { name, arguments: given } of readContext().toolCalls) {
      // The suite gives null where the tool's own schema says boolean, which comity refuses; "null
      // or not provided" is what the check is about.
      await call(caller, name, given).catch(() => call(caller, name, withoutNulls(given)))
    }
  },
  'http-invalid-tool-headers': callEveryTool,
  'json-schema-ref-no-deref': async (caller) => {
    await listTools(caller)
    // Refused or not, it must not fetch what the schema points at.
    await call(caller, 'lookup_user', { id: 'someone' }).catch(() => undefined)
  },
  'json-schema-2020-12-preservation': async (caller) => {
    const { tools } = await caller.listTools()
    const schema = tools.find(({ name }) => name === 'json_schema_2020_12_tool')?.inputSchema
    await call(caller, 'json_schema_echo', { schema })
  },
}

/** The suite ends only the shell around it: whoever waits in vain has to end by itself. */
const GIVE_UP_MS = 25_000

async function main(url: string | undefined): Promise<void> {
  setTimeout(() => {
    console.error(`gave up after ${GIVE_UP_MS} ms`)
    process.exit(1)
  }, GIVE_UP_MS).unref()
  const name = process.env['MCP_CONFORMANCE_SCENARIO'] ?? ''
  if (url !== undefined && isLogin(name)) return useWithLogins(url)
  const scenario = SCENARIOS[name]
  if (url === undefined || scenario === undefined) {
    throw new Error(
      `expected a server's URL and a scenario that is known here, got ${url}, ${name}`,
    )
  }
  const folder = mkdtempSync(join(tmpdir(), 'cc-'))
  // Also when it gives up.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const config = join(folder, 'comity.yaml')
  writeFileSync(
    config,
    JSON.stringify({
      mcpServers: { suite: { url } },
      names: 'as-is',
      policy: { rules: [{ match: '*/*', effect: 'allow' }] },
      store: 'sqlite:./comity.db',
    }),
  )
  const host = await createHost({
    config,
    environment: { PATH: process.env['PATH'], HOME: folder, XDG_RUNTIME_DIR: folder },
    onFault: (what, error) => console.error(`${what}:`, error),
  })
  try {
    const caller = await openCaller(await host.serve({ port: 0 }))
    await scenario(caller)
    await caller.close()
  } finally {
    await host.close()
  }
}

/** A caller of the revision that the suite's server speaks, so that questions need no translation. */
async function openCaller(url: string): Promise<Caller> {
  const modern = process.env['MCP_CONFORMANCE_PROTOCOL_VERSION'] === '2026-07-28'
  // It would leave out tools with wrong headers by itself; here it is comity that has to.
  const blind = process.env['MCP_CONFORMANCE_SCENARIO'] === 'http-invalid-tool-headers'
  const caller = new Client(
    { name: 'conformance-caller', version: '0.0.0' },
    {
      capabilities: { elicitation: { form: { applyDefaults: true } } },
      ...(modern && !blind ? { versionNegotiation: { mode: 'auto' as const } } : {}),
    },
  )
  caller.setRequestHandler('elicitation/create', async () => {
    const between = process.env['MCP_CONFORMANCE_SCENARIO'] === 'sep-2322-client-request-state'
    if (between) await call(caller, 'test_mrtr_unrelated')
    return { action: 'accept', content: between ? { confirmed: true } : {} }
  })
  await caller.connect(new StreamableHTTPClientTransport(new URL('/mcp', url)))
  return caller
}

async function listTools(caller: Caller): Promise<void> {
  await caller.listTools()
}

async function call(
  caller: Caller,
  name: string,
  given: Record<string, unknown> = {},
): Promise<void> {
  const result = await caller.callTool({ name, arguments: given })
  if (result.isError === true) throw new Error(`${name}: ${JSON.stringify(result.content)}`)
}

function withoutNulls(given: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
}

async function callEverything(caller: Caller): Promise<void> {
  const { tools } = await caller.listTools()
  for (const { name } of tools) await call(caller, name)
  const { resources } = await caller.listResources()
  for (const { uri } of resources) await caller.readResource({ uri })
  const { prompts } = await caller.listPrompts()
  for (const { name } of prompts) await caller.getPrompt({ name })
}

/** Calls whatever comity lists: one that it should have left out is then seen by the suite's server. */
async function callEveryTool(caller: Caller): Promise<void> {
  const { tools } = await caller.listTools()
  for (const { name, inputSchema } of tools) {
    const given = (inputSchema.required ?? []).map((key) => [key, 'somewhere'])
    await call(caller, name, Object.fromEntries(given)).catch(() => undefined)
  }
}

function readContext(): {
  readonly toolCalls: readonly {
    readonly name: string
    readonly arguments: Record<string, unknown>
  }[]
} {
  const context: unknown = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}')
  const { toolCalls } = Object(context) as { toolCalls?: unknown }
  if (!Array.isArray(toolCalls)) throw new Error('the suite named no tool calls in its context')
  return { toolCalls }
}

await main(process.argv[2])
