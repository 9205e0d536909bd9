import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Peer } from '../../core/ports/peer.ts'
import { loadConfig } from '../config/load-config.ts'
import { openPeers } from './peers.ts'
import { digest, systemClock } from './world.ts'

const ENV = {
  HOME: '/home/somebody',
  TOKEN: 'canary"4711 x',
  KEY: 'canary-0815',
}

/** Peers of a config file, as the gateway makes them; `secret` is a file of one line. */
async function peersOf(yaml: string): Promise<ReadonlyMap<string, Peer>> {
  const folder = mkdtempSync(join(tmpdir(), 'comity-peers-'))
  writeFileSync(join(folder, 'secret'), 'canary-file\n')
  const file = join(folder, 'comity.yaml')
  writeFileSync(file, yaml)
  const opened = await openPeers(loadConfig(file, ENV), 'all', {
    clock: systemClock,
    digest,
    environment: process.env,
    version: '0.0.0',
    onNote: () => undefined,
  })
  onTestFinished(async () => {
    await opened.close()
    rmSync(folder, { recursive: true })
  })
  return new Map(opened.peers.map((peer) => [peer.name, peer]))
}

async function saidOf(peer: Peer): Promise<string> {
  const fault = await peer.listing().then(
    () => 'nothing',
    (error: unknown) => (error as Error).message,
  )
  return `${fault}\n${peer.report().detail ?? 'nothing'}`
}

test('T12: a server that prints its command line tells no value that an expansion brought into it', async () => {
  const source =
    'console.error(process.argv.join(" "), JSON.stringify(process.argv)); process.exit(2)'
  const peers = await peersOf(`
mcpServers:
  talks:
    command: ${JSON.stringify(process.execPath)}
    args: ["-e", ${JSON.stringify(source)}, "--", "--token", "\${env:TOKEN}", "--key=\${file:secret}", "\${env:HOME}/docs"]
`)
  const said = await saidOf(peers.get('talks')!)
  expect(said).not.toContain('canary')
  expect(said).toContain('--token ***')
  expect(said).toContain('--key=***')
  // What every server is given is no secret: without it, paths could not be read.
  expect(said).toContain('/home/somebody/docs')
})

test('T12: a server that repeats its address, path and all, tells no value that an expansion brought into it', async () => {
  const server = createServer((request, response) => {
    const key = String(request.headers['x-key'])
    const message = `no route ${request.url} for ${key}`
    response.writeHead(400, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32600, message } }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const peers = await peersOf(`
mcpServers:
  hook: { url: "http://127.0.0.1:${port}/hooks/\${env:TOKEN}/mcp", headers: { X-Key: "id=\${env:KEY}!" } }
`)
  const said = await saidOf(peers.get('hook')!)
  expect(said).not.toContain('canary')
  expect(said).toContain('/hooks/***/mcp')
})
