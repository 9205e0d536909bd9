/** What the tests of whole processes share: a person who logs in at `comity login`, and callers over HTTP of both eras. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import {
  comityCommand,
  start,
  until,
  type Ended,
  type Home,
} from '../journeys/comity-process.fixture.ts'
import { browse } from './browser.fixture.ts'

/** Runs `comity login <peer>`; its browser is opened by us. */
export async function logIn(home: Home, peer: string, ...args: string[]): Promise<Ended> {
  const running = start(home, ['login', peer, '--no-browser', ...args])
  try {
    const address = await until('the address of the login', () => {
      const said = running.stdout() + running.stderr()
      return /^http:\S+\/auth\?\S+$/mu.exec(said)?.[0]
    })
    await browse(address)
    return await running.ended
  } catch (error) {
    await running.stop()
    throw new Error(`${running.stdout()}\n${running.stderr()}`, { cause: error })
  }
}

/** An official client of 2026-07-28 over HTTP. */
export async function connectTo(url: string): Promise<Client> {
  const client = new Client(
    { name: 'journey', version: '0' },
    { versionNegotiation: { mode: 'auto' } },
  )
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', url)))
  return client
}

/** Which tools it is shown; none when it is told that no peer could be listed. */
export async function toolsOf(client: Client): Promise<readonly string[]> {
  try {
    return (await client.listTools()).tools.map(({ name }) => name)
  } catch (error) {
    if (!(error as Error).message.includes('no peer could be listed')) throw error
    return []
  }
}

/** What a call said: its text, or the words of its error. */
export async function say(client: Client, name: string): Promise<string> {
  try {
    const { content } = (await client.callTool({ name, arguments: {} })) as {
      readonly content: readonly { readonly text?: string }[]
    }
    return content.map(({ text }) => text ?? '').join('\n')
  } catch (error) {
    return `error: ${(error as Error).message}`
  }
}

/** The command line of `comity mcp`, as the official clients start it. */
export function pipeTo(home: Home, ...args: string[]) {
  const { command, args: words, cwd, env } = comityCommand(home, 'mcp', ...args)
  return { command, args: [...words], cwd, env: { ...env }, stderr: 'ignore' as const }
}
