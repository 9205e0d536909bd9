/** `comity up` with a published documents server: the official A2A client completes a task, also across kill -9. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { createInterface } from 'node:readline'
import { Role, type Task, TaskState } from '@a2a-js/sdk'
import { expect, onTestFinished, test } from 'vitest'
import { clientOf } from './a2a-desk-house.ts'

const ENTRY = join(import.meta.dirname, '../../bin/comity.js')

interface Up {
  readonly url: string
  /** @returns when the process is gone. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
}

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'comity-desk-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'handbook'))
  writeFileSync(join(folder, 'handbook/a.md'), '# Retention\n\nContracts are kept ten years.\n')
  const config = {
    mcpServers: { docs: { command: process.execPath, args: [ENTRY, 'docs', './handbook'] } },
    publish: {
      desk: {
        description: 'Finds passages',
        skills: { find: { route: 'docs/search_documents', text: 'query' } },
      },
    },
    store: 'sqlite:./store.sqlite',
  }
  writeFileSync(join(folder, 'comity.yaml'), JSON.stringify(config))
  return folder
}

/** Starts the gateway; resolves once the documents server is reached. */
async function start(folder: string): Promise<Up> {
  const child = spawn(process.execPath, [ENTRY, 'up', '--port', '0', '--json'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, XDG_RUNTIME_DIR: folder, COMITY_CONFIG: '' },
  })
  onTestFinished(() => end(child, 'SIGKILL'))
  const url = await within(
    'the gateway to be ready and its peers to be reached',
    firstEvents(child.stdout),
  )
  child.stdout.resume()
  return { url, end: (signal) => end(child, signal) }
}

/** @returns the url of the gateway, once it has also told what became of its peers. */
async function firstEvents(output: Readable): Promise<string> {
  let url = ''
  for await (const line of createInterface({ input: output })) {
    const event = JSON.parse(line) as { readonly event: string; readonly url: string }
    if (event.event === 'ready') url = event.url
    if (event.event === 'peers') return url
  }
  throw new Error('the gateway ended before it was ready')
}

async function end(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill(signal)
  await within(`the end of the gateway by ${signal}`, gone)
}

async function find(url: string, query: string, messageId = `ask-${query}`): Promise<Task> {
  const client = await clientOf(url, 'desk')
  const reply = await client.sendMessage({
    tenant: '',
    message: {
      messageId,
      contextId: '',
      taskId: '',
      role: Role.ROLE_USER,
      parts: [
        {
          content: { $case: 'text', value: query },
          metadata: undefined,
          filename: '',
          mediaType: 'text/plain',
        },
      ],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    },
    configuration: undefined,
    metadata: undefined,
  })
  if (!('status' in reply)) throw new Error('expected a task, got a message')
  return reply
}

test('a task at /a2a/desk is completed through a real gateway, and is there after kill -9', async () => {
  const folder = createFolder()
  const first = await start(folder)
  const task = await find(first.url, 'contracts')
  expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
  expect(task.artifacts[0]?.parts.at(-1)?.content).toMatchObject({
    $case: 'data',
    value: { query: 'contracts', hits: [{ document: 'handbook/a.md' }] },
  })
  await first.end('SIGKILL')

  const second = await start(folder)
  const client = await clientOf(second.url, 'desk')
  const kept = await client.getTask({ tenant: '', id: task.id, historyLength: undefined })
  // What was said lived in the first process; the row and its artifacts did not.
  expect(kept).toEqual({ ...task, history: [] })
  // The reply to the first may have been lost: the same message again is the same task, and no second call.
  expect(await find(second.url, 'contracts')).toMatchObject({
    id: task.id,
    contextId: task.contextId,
    status: { state: TaskState.TASK_STATE_COMPLETED },
    artifacts: task.artifacts,
  })
  await expect(find(second.url, 'other words', 'ask-contracts')).rejects.toThrow(/other content/u)
  await second.end('SIGTERM')
}, 120_000)

async function within<T>(what: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`waited too long for ${what}`)), 25_000)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
