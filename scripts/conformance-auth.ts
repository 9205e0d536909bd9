/**
 * comity as the suite's OAuth client: `comity up` with a configuration as an operator would write it,
 * a caller that uses the suite's server through it, and a person who runs `comity login` when told
 * to and opens every address that is asked for.
 *
 * Nothing here knows a scenario by its name: what is configured comes of what the suite hands out.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import {
  createHome,
  start,
  until,
  type Home,
  type Running,
} from '../test/journeys/comity-process.fixture.ts'
import { browse } from '../test/oauth/browser.fixture.ts'

/** What is done again for a login, and then no more: where to stop is comity's to know, long before. */
const MOST_LOGINS = 8
/** How long a person waits for what the login was for. */
const HEARD_MS = 5_000
const PEER = 'suite'
const URL_ELICITATION_REQUIRED = -32042
/** Of a client that has a metadata document; the suite knows its address, and nobody fetches it. */
const METADATA_URL = 'https://conformance-test.local/client-metadata.json'

type Texts = Readonly<Record<string, string | undefined>>

/** What the suite hands out: identifiers, secrets and assertions that were agreed on beforehand. */
interface Context extends Texts {
  readonly client_id?: string
  readonly client_secret?: string
  readonly private_key_pem?: string
  readonly signing_algorithm?: string
  readonly issuer?: string
  readonly valid_jwt?: string
  readonly idp_issuer?: string
  readonly idp_id_token?: string
  readonly idp_client_id?: string
}

/**
 * Uses the suite's server through a process of comity until its tool was called.
 *
 * @throws Error when it could not be called, which some scenarios are about.
 */
export async function useWithLogins(url: string): Promise<void> {
  const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as Context
  const home = createHome({
    mcpServers: { [PEER]: { url, auth: await configureAuth(url, context) } },
    policy: { rules: [{ match: '*/*', effect: 'allow' }] },
    store: 'sqlite:./comity.db',
  })
  // Also when the client under test gives up.
  process.once('exit', () => {
    for (const running of processes) running.signal('SIGKILL')
    home.remove()
  })
  const up = begin(home, 'up', '--port', '0')
  try {
    const person = new Person(home)
    const ready = await said(up, /^comity ready on (http\S+)$/mu)
    const caller = await openCaller(ready, person)
    await person.helped(() => caller.listTools())
    await person.helped(() => callTool(caller))
    await caller.close()
  } finally {
    const { stderr } = await up.stop()
    // The suite keeps it beside the checks.
    console.error(stderr)
  }
}

/** Of comity: nothing else would end them with us. */
const processes = new Set<Running>()

function begin(home: Home, ...args: string[]): Running {
  const running = start(home, args)
  processes.add(running)
  void running.ended.then(() => processes.delete(running))
  return running
}

/** What a process says on its standard output. @throws Error when it ended first. */
function said(running: Running, words: RegExp): Promise<string> {
  return Promise.race([
    until(String(words), () => words.exec(running.stdout())?.[1]),
    running.ended.then(({ stderr }) => Promise.reject(new Error(stderr))),
  ])
}

/** `auth:` of the configuration. */
async function configureAuth(url: string, context: Context): Promise<object> {
  const { client_id: id, client_secret: secret, private_key_pem: privateKey } = context
  if (id === undefined) return { metadataUrl: METADATA_URL }
  const algorithm = context.signing_algorithm
  const client = { id, secret, privateKey, algorithm }
  const issuer = context.issuer ?? (await issuerOf(url))
  if (context.issuer !== undefined) return { issuer, client }
  if (context.valid_jwt !== undefined)
    return { grant: 'jwt_bearer', issuer, client, assertion: context.valid_jwt }
  if (context.idp_id_token !== undefined) {
    const { idp_issuer, idp_id_token: idToken, idp_client_id } = context
    const identity = { issuer: idp_issuer, idToken, client: { id: idp_client_id } }
    return { grant: 'enterprise', issuer, client, identity }
  }
  return { grant: 'client_credentials', issuer, client }
}

/** Whoever was given a client was told by whom; the suite does not say, and its server does. */
async function issuerOf(url: string): Promise<string> {
  const { origin, pathname } = new URL(url)
  const answer = await fetch(`${origin}/.well-known/oauth-protected-resource${pathname}`)
  const { authorization_servers: servers } = (await answer.json()) as {
    readonly authorization_servers: readonly string[]
  }
  if (servers[0] === undefined) throw new Error(`${url} names no authorization server`)
  return servers[0]
}

/** Somebody who does what comity asks for, and has what needed it done again. */
class Person {
  readonly #home: Home
  #logins = 0
  #refused: string | undefined

  constructor(home: Home) {
    this.#home = home
  }

  async open(address: string): Promise<void> {
    this.#logins += 1
    const page = await browse(address)
    if (page.status !== 200) this.#refused = page.text
  }

  /** @throws Error when a login failed, or what was asked for did for another reason. */
  async helped(act: () => Promise<unknown>): Promise<void> {
    let failure = await failureOf(act)
    while (failure !== undefined) {
      const before = this.#logins
      const asked = failure.message
      for (const address of addressesIn(failure)) await this.open(address)
      if (this.#logins === before && saysCommand(asked)) await this.#runLogin()
      if (this.#refused !== undefined) throw new Error(`the login failed: ${this.#refused}`)
      if (this.#logins === before || this.#logins >= MOST_LOGINS) throw failure
      failure = await this.#heard(act, asked)
    }
  }

  /** Another process hears of a login within a second; until then it asks as before. */
  async #heard(act: () => Promise<unknown>, asked: string): Promise<Error | undefined> {
    const deadline = Date.now() + HEARD_MS
    return until('comity goes on', async () => {
      const failure = await failureOf(act)
      const same = failure?.message === asked && Date.now() < deadline
      return same ? undefined : { failure }
    }).then(({ failure }) => failure)
  }

  /** The command that was named, with the address that it prints opened. */
  async #runLogin(): Promise<void> {
    const running = begin(this.#home, 'login', PEER, '--no-browser')
    try {
      const address = await said(running, /^(http\S+)$/mu)
      await this.open(address)
      const { code, stderr } = await running.ended
      if (code !== 0) this.#refused = stderr
    } finally {
      await running.stop()
    }
  }
}

async function failureOf(act: () => Promise<unknown>): Promise<Error | undefined> {
  try {
    await act()
    return undefined
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

function saysCommand(text: string): boolean {
  return text.includes(`run: comity login ${PEER}`)
}

/** The addresses that an answer of 2025-11-25 asks to be opened first. */
function addressesIn(error: unknown): readonly string[] {
  const { code, data } = Object(error) as { readonly code?: unknown; readonly data?: unknown }
  if (code !== URL_ELICITATION_REQUIRED) return []
  const { elicitations } = data as { readonly elicitations: readonly { readonly url: string }[] }
  return elicitations.map((asked) => asked.url)
}

/** A caller of the revision that the suite's server speaks, behind which a person sits. */
async function openCaller(url: string, person: Person): Promise<Client> {
  const modern = process.env['MCP_CONFORMANCE_PROTOCOL_VERSION'] === '2026-07-28'
  const caller = new Client(
    { name: 'conformance-caller', version: '0.0.0' },
    {
      capabilities: { elicitation: { form: {}, url: {} } },
      ...(modern ? { versionNegotiation: { mode: 'auto' as const } } : {}),
    },
  )
  caller.setRequestHandler('elicitation/create', async ({ params }) => {
    if (params.mode === 'url') await person.open(params.url)
    return { action: params.mode === 'url' ? 'accept' : 'decline' }
  })
  await caller.connect(new StreamableHTTPClientTransport(new URL('/mcp', url)))
  return caller
}

async function callTool(caller: Client): Promise<void> {
  const result = await caller.callTool({ name: `${PEER}_test-tool`, arguments: {} })
  if (result.isError === true) throw new Error(`test-tool: ${JSON.stringify(result.content)}`)
}
