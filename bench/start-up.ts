/**
 * How long a person waits at the command line: `--help` against bare Node, `ls` of five local servers with a process up and
 * without, each against the same thing without comity in the same run. Prints figures beside their targets.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { programs } from './rig/package.ts'

const ROUNDS = Number(process.argv[2] ?? 5)
const NODE = process.execPath
const ENTRY = programs().comity
const BIN = join(process.cwd(), 'node_modules', '.bin')
const REQUIREMENTS = join(
  process.cwd(),
  'node_modules',
  '@modelcontextprotocol',
  'conformance',
  'requirements',
)

const servers: Readonly<Record<string, { command: string; args: string[] }>> = {
  everything: { command: join(BIN, 'mcp-server-everything'), args: ['stdio'] },
  files: { command: join(BIN, 'mcp-server-filesystem'), args: [tmpdir()] },
  memory: { command: join(BIN, 'mcp-server-memory'), args: [] },
  memory2: { command: join(BIN, 'mcp-server-memory'), args: [] },
  docs: { command: NODE, args: [ENTRY, 'docs', REQUIREMENTS] },
}

const folder = mkdtempSync(join(tmpdir(), 'comity-bench-'))
const environment = {
  ...process.env,
  PATH: `${join(NODE, '..')}:${process.env['PATH']}`,
  XDG_RUNTIME_DIR: folder,
}
try {
  const config = join(folder, 'comity.yaml')
  writeFileSync(config, `${JSON.stringify({ mcpServers: servers, store: 'sqlite:./comity.db' })}\n`)
  const ls = [ENTRY, 'ls', '-c', config, '--json']
  await run(NODE, ls) // first sight of every definition, compile cache
  const bare = await median(async () => (await run(NODE, ['-e', '0'])).ended)
  const help = await median(async () => (await run(NODE, [ENTRY, '--help'])).ended)
  const start = await median(startAll)
  const answered = await median(async () => (await run(NODE, ls)).said)
  const without = await median(async () => (await run(NODE, ls)).ended)
  const up = await startUp(config)
  const withUp = await median(async () => (await run(NODE, ls)).ended)
  up.kill('SIGTERM')
  say('comity --help', help - bare, 150, `bare Node ${bare.toFixed(0)} ms`)
  say(
    'comity ls, process up',
    withUp - start,
    300,
    `bare start of the five at once ${start.toFixed(0)} ms`,
  )
  say('comity ls, no process', answered - start, 900, 'until its answer is there')
  say('  and until it ended', without - start, 900, 'its servers stopped, its store closed')
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function say(what: string, over: number, target: number, note: string): void {
  console.log(
    `${what.padEnd(24)} ${over.toFixed(0).padStart(6)} ms over, target ${target} ms: ${over <= target ? 'met' : 'NOT met'} (${note}, median of ${ROUNDS})`,
  )
}

async function median(measure: () => Promise<number>): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) times.push(await measure())
  return times.sort((left, right) => left - right)[Math.floor(times.length / 2)] ?? 0
}

/** Milliseconds until the last of its output came, and until it had ended. */
function run(
  command: string,
  args: readonly string[],
): Promise<{ readonly said: number; readonly ended: number }> {
  const begun = performance.now()
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: environment,
      timeout: 60_000,
    })
    let said = 0
    child.stdout.on('data', () => (said = performance.now() - begun))
    child.on('error', reject)
    child.on('exit', (code) =>
      code === 0
        ? resolve({ said, ended: performance.now() - begun })
        : reject(new Error(`${args.join(' ')} ended with ${code}`)),
    )
  })
}

/** The bare start: all five at once, each until it has answered `initialize`. */
async function startAll(): Promise<number> {
  const begun = performance.now()
  await Promise.all(Object.values(servers).map(startOne))
  return performance.now() - begun
}

async function startOne({ command, args }: { command: string; args: string[] }): Promise<void> {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'], env: environment })
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'bench', version: '0' },
  }
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`)
  for await (const line of createInterface({ input: child.stdout }))
    if (line.includes('"result"')) break
  child.kill('SIGKILL')
}

async function startUp(config: string): Promise<ChildProcess> {
  const child = spawn(NODE, [ENTRY, 'up', '-c', config, '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: environment,
  })
  for await (const line of createInterface({ input: child.stdout }))
    if (line.startsWith('✓ docs')) break
  return child
}
