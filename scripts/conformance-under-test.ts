/** What stands before the suite: the conforming peer as a process, with or without comity in front. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Era } from '../src/testkit/conforming-peer/server.ts'
import { createHome, startUp } from '../test/journeys/comity-process.fixture.ts'

const PEER = join(import.meta.dirname, '../src/testkit/conforming-peer/main.ts')

/** A server that the suite is run against. */
export interface UnderTest {
  readonly url: string
  /** Ends it and takes what it wrote away. @returns what its processes said on standard error. */
  stop(): Promise<string>
}

/** Gateways that run: unlike the peer, they would outlive this process. */
const running = new Set<UnderTest>()

/** Ends every gateway that is still there. */
export async function endAll(): Promise<void> {
  await Promise.all([...running].map((one) => one.stop()))
}

/** Starts the peer. It ends with this process at the latest: its standard input is a pipe of ours. */
export async function startPeer(era: Era): Promise<UnderTest> {
  const child = spawn(process.execPath, [PEER, '--http', '0', '--era', era], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let complaints = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text))
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  for await (const url of createInterface({ input: child.stdout })) {
    return {
      url,
      async stop() {
        child.kill('SIGTERM')
        await ended
        return complaints
      },
    }
  }
  throw new Error(`the peer ended before it listened:\n${complaints}`)
}

/** Starts the peer and `comity up` in front of it, in a home of its own. */
export async function startGateway(era: Era): Promise<UnderTest> {
  const peer = await startPeer(era)
  const home = createHome({
    mcpServers: { peer: { url: peer.url } },
    names: 'as-is',
    policy: { rules: [{ match: '*/*', effect: 'allow' }] },
    store: 'sqlite:./comity.db',
  })
  const clean = async (): Promise<void> => {
    await peer.stop()
    home.remove()
  }
  try {
    const up = await startUp(home)
    const gateway: UnderTest = {
      url: `${up.url}/mcp`,
      async stop() {
        running.delete(gateway)
        const { stderr } = await up.stop()
        await clean()
        return stderr
      },
    }
    running.add(gateway)
    return gateway
  } catch (error) {
    await clean()
    throw error
  }
}
