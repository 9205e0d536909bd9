/**
 * What is measured: peers to stand behind a gateway, and the gateways: this checkout, the bare proxy, the peer itself, or any
 * other that a JSON file tells how to start.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createClient, listTools, openPool, type Era } from './mcp-client.ts'
import { programs } from './package.ts'
import {
  freePort,
  makeScratch,
  startProcess,
  waitForPort,
  type Launch,
  type Running,
} from './processes.ts'

const NODE = process.execPath

/** A peer as `mcpServers` has it. */
export type PeerEntry =
  | { readonly type: 'http'; readonly url: string }
  | {
      readonly command: string
      readonly args: readonly string[]
      readonly env: Record<string, string>
    }

/** Something that serves MCP over HTTP. */
export interface Served {
  readonly name: string
  readonly url: string
  readonly running: Running
  /** The name under which a peer's tool is called here. */
  tool(peer: string, tool: string): string
  stop(): Promise<void>
}

/** How another gateway is started; `{config}`, `{port}` and `{folder}` are put in. */
interface TargetFile {
  readonly name: string
  readonly start: readonly string[]
  readonly url: string
  /** `{peer}` and `{tool}`; default `{peer}_{tool}`. */
  readonly tool?: string
  readonly env?: Readonly<Record<string, string>>
}

export interface StartOptions {
  /** Arguments of node before the program, and variables: for probes. */
  readonly nodeArgs?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Keeps store and config from an earlier start. */
  readonly folder?: string
}

/** The hand-written HTTP peer. @param tools all of them, the two echoes among them. */
export async function startPeer(tools = 2): Promise<Served> {
  const port = await freePort()
  const env = { PORT: String(port), TOOLS: String(tools - 2) }
  const running = startProcess({ command: NODE, args: [programs().server('http-raw')], env })
  await waitForPort(port, running)
  const url = `http://127.0.0.1:${port}/mcp`
  return { name: 'direct', url, running, tool: (_peer, tool) => tool, stop: () => running.stop() }
}

/** A stdio peer, not started: the gateway's config has it. */
export function stdioPeer(tools: number): Extract<PeerEntry, { command: string }> {
  return { command: NODE, args: [programs().server('stdio-echo')], env: { TOOLS: String(tools) } }
}

export async function startProxy(upstream: string): Promise<Served> {
  const port = await freePort()
  const env = { PORT: String(port), UPSTREAM: new URL(upstream).origin }
  const running = startProcess({ command: NODE, args: [programs().server('undici-proxy')], env })
  await waitForPort(port, running)
  const url = `http://127.0.0.1:${port}/mcp`
  return { name: 'proxy', url, running, tool: (_peer, tool) => tool, stop: () => running.stop() }
}

/** The package of this checkout, its ledger on and in a scratch folder. Resolves when it listens, which is before its peers are there. */
export async function startComity(
  peers: Readonly<Record<string, PeerEntry>>,
  options: StartOptions = {},
): Promise<Served> {
  const scratch = options.folder === undefined ? makeScratch('comity') : undefined
  const folder = options.folder ?? scratch!.path
  const config = join(folder, 'comity.yaml')
  const written = { mcpServers: peers, store: `sqlite:${join(folder, 'comity.db')}` }
  writeFileSync(config, JSON.stringify(written))
  const entry = programs().comity
  return startGateway('comity', scratch, (port) => ({
    command: NODE,
    args: [...(options.nodeArgs ?? []), entry, 'up', '-c', config, '--port', String(port)],
    env: { XDG_RUNTIME_DIR: folder, ...options.env },
    log: join(folder, 'log'),
  }))
}

/** Another gateway, as its file tells. */
export async function startOther(
  file: string,
  peers: Readonly<Record<string, PeerEntry>>,
): Promise<Served> {
  const target = JSON.parse(readFileSync(file, 'utf8')) as TargetFile
  const scratch = makeScratch(target.name.replaceAll(/\W/g, ''))
  const folder = scratch.path
  const config = join(folder, 'config.json')
  writeFileSync(config, JSON.stringify({ mcpServers: peers }))
  const fill = (text: string, port: number): string =>
    text
      .replaceAll('{config}', config)
      .replaceAll('{port}', `${port}`)
      .replaceAll('{folder}', folder)
  const served = await startGateway(target.name, scratch, (port) => {
    const [command = '', ...args] = target.start.map((part) => fill(part, port))
    return {
      command: command === 'node' ? NODE : command,
      args,
      env: { ...target.env },
      cwd: folder,
    }
  })
  const port = Number(new URL(served.url).port)
  const form = target.tool ?? '{peer}_{tool}'
  return {
    ...served,
    url: fill(target.url, port),
    tool: (peer, tool) => form.replace('{peer}', peer).replace('{tool}', tool),
  }
}

async function startGateway(
  name: string,
  scratch: { remove(): void } | undefined,
  launch: (port: number) => Launch,
): Promise<Served> {
  const port = await freePort()
  const running = startProcess(launch(port))
  const stop = async (): Promise<void> => {
    await running.stop()
    scratch?.remove()
  }
  try {
    await waitForPort(port, running)
  } catch (error) {
    await stop()
    throw error
  }
  const url = `http://127.0.0.1:${port}/mcp`
  return { name, url, running, tool: (peer, tool) => `${peer}_${tool}`, stop }
}

/** Waits until so many tools are listed. @returns when that was, by `performance.now()`. @throws Error when it never is. */
export async function waitForTools(
  served: Pick<Served, 'url' | 'running' | 'name'>,
  tools: number,
  { era = 'stateless', limitMs = 60_000 }: { era?: Era; limitMs?: number } = {},
): Promise<number> {
  const pool = openPool(served.url, 1)
  const client = createClient(era, served.url, pool)
  const end = performance.now() + limitMs
  let seen = 'nothing answered'
  try {
    await client.open()
    while (performance.now() < end && served.running.exited() === undefined) {
      try {
        const { length } = await listTools(client)
        if (length >= tools) return performance.now()
        seen = `only ${length} of ${tools} tools`
      } catch (error) {
        seen = error instanceof Error ? error.message : String(error)
      }
      await pause(10)
    }
  } finally {
    await pool.destroy()
  }
  throw new Error(`${served.name}: ${served.running.exited() ?? seen}`)
}
