import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { inlineServer, makeCall, openPeer, until } from '../../../test/mcp/upstream-peer.ts'
import { maskSecrets, minimalEnvironment, startServer, type ServerProcess } from './supervise.ts'

const node = (source: string, env: Record<string, string> = {}) => ({
  command: process.execPath,
  args: ['-e', source],
  env,
})

async function start(source: string, env: Record<string, string> = {}): Promise<ServerProcess> {
  const own = { ...process.env, OUR_SECRET: 'hunter2hunter2', NODE_EXTRA_CA_CERTS: '/nowhere.pem' }
  const server = await startServer(node(source, env), own, { closeMs: 100, termMs: 100 })
  onTestFinished(() => server.stop())
  return server
}

async function firstLine(server: ServerProcess): Promise<string> {
  const [line] = (await once(createInterface({ input: server.output }), 'line')) as [string]
  return line
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0)
    // Ended, but not yet collected by whoever inherited it: that is not ours to hasten.
    return process.platform !== 'linux' || !/\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return false
  }
}

test('a server gets the few entries it needs and its own, never ours', async () => {
  const server = await start('console.log(JSON.stringify(process.env))', { API_KEY: 'theirs' })
  const environment = JSON.parse(await firstLine(server)) as Record<string, string>
  expect(environment.API_KEY).toBe('theirs')
  expect(environment.PATH).toBe(process.env.PATH)
  expect(environment).not.toHaveProperty('OUR_SECRET')
  expect(environment).not.toHaveProperty('NODE_EXTRA_CA_CERTS')
})

test('the operator may give a server what is not inherited', () => {
  expect(
    minimalEnvironment({ PATH: '/bin', LC_ALL: 'C', X: '1' }, { NODE_EXTRA_CA_CERTS: '/a' }),
  ).toEqual({
    PATH: '/bin',
    LC_ALL: 'C',
    NODE_EXTRA_CA_CERTS: '/a',
  })
})

test('a command that does not exist is named, with what to do', async () => {
  const server = { command: 'no-such-command-here', args: [], env: {} }
  await expect(startServer(server, process.env)).rejects.toThrow(
    /cannot start `no-such-command-here`.*ENOENT.*on PATH/,
  )
})

test('a server that heeds neither its closed input nor TERM is killed, and its children too', async () => {
  const server = await start(`
    process.on('SIGTERM', () => {})
    const child = require('node:child_process').spawn(process.execPath, ['-e', 'process.on("SIGTERM",()=>{}); setInterval(()=>{},1e6); console.log("up")'], { stdio: ['ignore', 'inherit', 'ignore'] })
    setInterval(() => {}, 1e6)
    child.on('spawn', () => console.log(child.pid))
  `)
  const child = Number(await firstLine(server))
  expect(lives(child)).toBe(true)
  await server.stop()
  expect(await server.ended).toBe('was ended by SIGKILL')
  await until('the grandchild is gone', () => !lives(child))
})

test.each([
  ['its closed input', "process.stdin.resume().on('end', () => process.exit(5))", 'code 5', 0],
  [
    'TERM',
    "process.on('SIGTERM', () => process.exit(6)); setInterval(() => {}, 1e6); process.stdin.resume()",
    'code 6',
    100,
  ],
  [
    'neither',
    "process.on('SIGTERM', () => {}); setInterval(() => {}, 1e6); process.stdin.resume()",
    'SIGKILL',
    200,
  ],
])('one that heeds %s is asked no harder, and has its time first', async (_, source, how, ms) => {
  const server = await start(`${source}; console.log('up')`)
  await firstLine(server)
  const begun = performance.now()
  await Promise.all([server.stop(), server.stop()])
  expect(await server.ended).toContain(how)
  expect(performance.now() - begun).toBeGreaterThan(ms - 5)
})

test('what a server prints on stderr is read to the end, and the last of it kept', async () => {
  const server = await start(`
    const line = 'all work and no play '.repeat(50) + '\\n'
    for (let index = 0; index < 5000; index += 1) require('node:fs').writeSync(2, line)
    require('node:fs').writeSync(2, 'the last line\\n')
  `)
  expect(await server.ended).toBe('exited with code 0')
  await until('all of it was read', () => server.stderrTail().endsWith('the last line\n'))
  expect(server.stderrTail().length).toBe(16 * 1024)
})

test('what a crashed server started goes with it', async () => {
  const server = await start(`
    const child = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(()=>{},1e6)'], { stdio: 'ignore' })
    child.on('spawn', () => { console.log(child.pid); process.stdin.once('data', () => process.exit(3)) })
  `)
  const child = Number(await firstLine(server))
  server.input.write('x')
  expect(await server.ended).toBe('exited with code 3')
  await until('the grandchild is gone', () => !lives(child))
})

test('calls that are open when a server is killed are answered at once, also where a child of it holds its output', async () => {
  const took: number[] = []
  for (let round = 0; round < 5; round += 1) {
    const peer = openPeer(
      inlineServer(`
        import { spawn } from 'node:child_process'
        spawn(process.execPath, ['-e', 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1e6)'], { stdio: ['ignore', 'inherit', 'ignore'] })
        serve({ 'tools/call': (m) => m.params.arguments.kill && process.kill(process.pid, 'SIGKILL') })
      `),
    )
    await peer.listing()
    const open = [makeCall(peer, 'pay'), makeCall(peer, 'pay')]
    const killed = performance.now()
    const made = await Promise.all([...open, makeCall(peer, 'pay', { kill: true })])
    took.push(performance.now() - killed)
    expect(made.map(({ outcome }) => outcome.state)).toEqual(['unknown', 'unknown', 'unknown'])
    await peer.close()
  }
  // Some 40 ms on a machine that has nothing else to do: bench/restart.ts measures it.
  expect(took.toSorted((one, other) => one - other)[2]).toBeLessThan(1_000)
}, 30_000)

test('the tail of stderr is kept, without the configured values', async () => {
  const server = await start(
    'console.error("token is " + process.env.TOKEN); process.stdin.resume()',
    {
      TOKEN: 'sk-1234567890',
    },
  )
  await until('stderr arrived', () => server.stderrTail() !== '')
  expect(server.stderrTail()).toBe('token is ***\n')
})

test('longer secrets are masked first, words too short to be one are left', () => {
  expect(maskSecrets('abcdef abcdefgh true', ['abcdef', 'abcdefgh', 'true'])).toBe('*** *** true')
})

/** A process that starts one server; prints what the server prints first. */
async function startParent(source: string) {
  const module = new URL('./supervise.ts', import.meta.url).href
  const program = `
    const { startServer } = await import(${JSON.stringify(module)})
    const server = await startServer({ command: process.execPath, args: ['-e', ${JSON.stringify(source)}], env: {} }, process.env)
    server.output.pipe(process.stdout)`
  const parent = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void parent.kill('SIGKILL'))
  const [line] = (await once(createInterface({ input: parent.stdout }), 'line')) as [string]
  const pids = line.split(' ').map(Number)
  onTestFinished(() => {
    for (const pid of pids) if (lives(pid)) process.kill(pid, 'SIGKILL')
  })
  expect(pids.every(lives)).toBe(true)
  return { parent, pids }
}

test.skipIf(process.platform === 'win32')(
  'kill -9 of this process leaves no orphan, not even one that left its group',
  async () => {
    const { parent, pids } = await startParent(`
      process.on('SIGTERM', () => {})
      const child = require('node:child_process').spawn(process.execPath, ['-e', 'process.on("SIGTERM",()=>{}); setInterval(()=>{},1e6)'], { stdio: 'ignore', detached: true })
      setInterval(() => {}, 1e6)
      child.on('spawn', () => console.log(process.pid + ' ' + child.pid))
    `)
    parent.kill('SIGKILL')
    await until('the server is gone', () => !lives(pids[0]!))
    // Only Linux lets the guard find a process that made itself a group of its own.
    if (process.platform === 'linux')
      await until('the strayed child is gone', () => !lives(pids[1]!))
  },
)

test.skipIf(process.platform !== 'linux')(
  'a guard that was killed is replaced, and the new one watches what the old one did',
  async () => {
    const { parent, pids } = await startParent(
      'setInterval(() => {}, 1e6); console.log(process.pid)',
    )
    const guardOf = (): number | undefined => {
      const children = readFileSync(`/proc/${parent.pid}/task/${parent.pid}/children`, 'utf8')
      const guards = children.split(' ').filter((pid) => {
        if (pid === '') return false
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('comity-guard')
      })
      return guards.length === 0 ? undefined : Number(guards[0])
    }
    const guard = guardOf()!
    process.kill(guard, 'SIGKILL')
    await until('a new guard runs', () => ![undefined, guard].includes(guardOf()))
    parent.kill('SIGKILL')
    await until('the server is gone', () => !lives(pids[0]!))
  },
)
