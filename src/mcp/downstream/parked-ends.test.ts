/** Parked calls where doors end and on pipes. */
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createInterface } from 'node:readline'
import { afterEach, expect, test } from 'vitest'
import type { Exchange } from '../../core/ports/upstream.ts'
import type { Answer } from '../../core/words/question.ts'
import { mcpNative } from '../wire/native.ts'
import { encodeJson } from '../wire/spans.ts'
import { serveStdio } from './stdio.ts'
import { completed, createScriptedHouse, type Scripted } from './testing/scripted-house.ts'
import {
  dig,
  LOCAL,
  modernMeta,
  openTestDoor,
  postModern,
  TEST_KEY,
  until,
} from './testing/test-door.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

const QUESTION = {
  method: 'elicitation/create',
  params: { message: 'Which?', requestedSchema: { type: 'object', properties: {} } },
}

function ask(exchange: Exchange): Promise<Answer> {
  if (exchange.ask === undefined) throw new Error('this caller can be asked nothing')
  const native = mcpNative(encodeJson(QUESTION), '2025-11-25')
  const withdrawn = new AbortController().signal
  return exchange.ask({ kind: 'form', key: 'k', text: 'Which?', native }, withdrawn)
}

function said(value: unknown) {
  return completed({ content: [{ type: 'text', text: JSON.stringify(value) }] })
}

const EXPORT: Scripted = { kind: 'tool', exposed: 'export' }
const CAN = { elicitation: { form: {} } }
const CALL = {
  name: 'export',
  arguments: {},
  _meta: modernMeta({ 'io.modelcontextprotocol/clientCapabilities': CAN }),
}
const ENGLISH = { action: 'accept', content: { language: 'en' } }

const textOf = (body: unknown): unknown =>
  JSON.parse(String(dig(body, 'result', 'content', 0, 'text')))
const stateOf = (body: unknown): string => String(dig(body, 'result', 'requestState'))

test('a door that closes lets no peer wait for an answer that cannot come', async () => {
  let heard: string | undefined
  const house = createScriptedHouse([
    {
      ...EXPORT,
      run: async (_call, exchange) => {
        heard = (await ask(exchange)).action
        return said(heard)
      },
    },
  ])
  const server = await openTestDoor(house)
  await postModern(server.url, 'tools/call', CALL)
  expect(heard).toBeUndefined()
  await server.close()
  await until(() => heard !== undefined)
  expect(heard).toBe('cancel')
})

test('a door that closes waits until calls whose questions it canceled have ended', async () => {
  let ended = false
  const house = createScriptedHouse([
    {
      ...EXPORT,
      run: async (_call, exchange) => {
        const { action } = await ask(exchange)
        // What a peer does with a cancel takes it a while.
        for (let turn = 0; turn < 5; turn += 1) await nextTurn()
        ended = true
        return said(action)
      },
    },
  ])
  const server = await openTestDoor(house)
  await postModern(server.url, 'tools/call', CALL)
  await server.close()
  expect(ended).toBe(true)
})

test('a door that closes stops calls that were parked and do not end, and is closed in bounded time', async () => {
  let reason: unknown
  const house = createScriptedHouse([
    {
      ...EXPORT,
      run: async (_call, exchange) => {
        await ask(exchange)
        if (!exchange.signal.aborted) await once(exchange.signal, 'abort')
        reason = exchange.stopReason()
        return said('stopped')
      },
    },
  ])
  const server = await openTestDoor(house, { limits: { drainMs: 30 } })
  await postModern(server.url, 'tools/call', CALL)
  await server.close()
  expect(reason).toBe('shutdown')
})

test('a second retry while the first one waits is refused, and takes nothing from it', async () => {
  const gate = Promise.withResolvers<void>()
  const house = createScriptedHouse([
    {
      ...EXPORT,
      run: async (_call, exchange) => {
        const { action } = await ask(exchange)
        await gate.promise
        return said(action)
      },
    },
  ])
  const server = await openTestDoor(house)
  closers.push(server.close)
  const first = await postModern(server.url, 'tools/call', CALL)
  const retry = { ...CALL, requestState: stateOf(first.body), inputResponses: { q1: ENGLISH } }
  const both = [1, 2].map(() => postModern(server.url, 'tools/call', retry))
  const refused = await Promise.race(both)
  gate.resolve()
  const answers = await Promise.all(both)

  expect(dig(refused.body, 'error', 'message')).toContain('used already')
  const others = answers.filter((answer) => answer !== refused)
  expect(others.map(({ body }) => textOf(body))).toEqual(['accept'])
})

test('on a pipe a retry takes the call over, and its cancellation stops it', async () => {
  let reason: unknown
  const house = createScriptedHouse([
    {
      ...EXPORT,
      run: async (call, exchange) => {
        const { action } = await ask(exchange)
        if ((call.arguments.value() as { wait?: true }).wait !== true) return said(action)
        await until(() => exchange.signal.aborted)
        reason = exchange.stopReason()
        return said('stopped')
      },
    },
  ])
  const input = new PassThrough()
  const output = new PassThrough()
  const lines: unknown[] = []
  createInterface({ input: output }).on('line', (line) => lines.push(JSON.parse(line)))
  const door = serveStdio(house, {
    principal: LOCAL,
    input,
    output,
    serverInfo: { name: 't', version: '1' },
    sealingKey: TEST_KEY,
    clock: { now: Date.now },
  })
  closers.push(() => {
    input.end()
    return door.done
  })
  const send = (message: object): void => {
    input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }
  const call = (id: number, params: object): void => send({ id, method: 'tools/call', params })

  call(1, CALL)
  await until(() => lines.length === 1)
  call(2, { ...CALL, requestState: stateOf(lines[0]), inputResponses: { q1: ENGLISH } })
  await until(() => lines.length === 2)
  expect(textOf(lines[1])).toBe('accept')

  const waiting = { ...CALL, arguments: { wait: true } }
  call(3, waiting)
  await until(() => lines.length === 3)
  call(4, { ...waiting, requestState: stateOf(lines[2]), inputResponses: { q1: ENGLISH } })
  await until(() => house.calls.length === 2)
  send({ method: 'notifications/cancelled', params: { requestId: 4 } })
  await until(() => reason !== undefined)
  expect(reason).toBe('caller_canceled')
})

test('what parked calls hold is bounded in bytes: one that finds no room hears cancel', async () => {
  const house = createScriptedHouse([
    { ...EXPORT, run: async (_call, exchange) => said((await ask(exchange)).action) },
  ])
  const server = await openTestDoor(house, { limits: { maxParkedBytes: 3_000 } })
  closers.push(server.close)
  const large = { ...CALL, arguments: { text: 'x'.repeat(2_000) } }
  const held = await postModern(server.url, 'tools/call', large)
  expect(dig(held.body, 'result', 'resultType')).toBe('input_required')
  const refused = await postModern(server.url, 'tools/call', large)
  expect(textOf(refused.body)).toBe('cancel')
  const small = await postModern(server.url, 'tools/call', CALL)
  expect(dig(small.body, 'result', 'resultType')).toBe('input_required')
})
