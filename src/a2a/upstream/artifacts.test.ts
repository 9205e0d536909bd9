import { readFileSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { CLOCK, NEVER, reduceNews } from '../../../test/a2a/calls.ts'
import { openSse, replyError, replyResult, sendEvent } from '../../../test/a2a/raw-peer.ts'
import { openScriptedAgent, taskOf } from '../../../test/a2a/scripted-agent.ts'
import { judgeRecords } from '../../core/words/acceptance.ts'
import type { ArtifactChunk } from '../../core/words/artifact.ts'
import { openConnections } from '../bindings/http.ts'
import type { Artifact } from '../wire/messages.ts'
import { wholeSpan } from '../wire/span.ts'
import { chunksOfTask, NOTHING_TAKEN, takeChunk, takeSnapshot } from './artifacts.ts'
import { sealHandle } from './handle.ts'
import { createA2aPeer } from './peer.ts'

const connections = openConnections()
afterAll(() => connections.close())

const C79 = JSON.parse(
  readFileSync(
    new URL('../../../test/cases/C79-artifact-append-without-first.json', import.meta.url),
    'utf8',
  ),
) as { readonly given: { readonly events: readonly Record<string, unknown>[] } }

/** Follows an agent that streams these events and then shows these artifacts. */
async function followEvents(events: readonly Record<string, unknown>[], artifacts: unknown) {
  await using agent = await openScriptedAgent({ streaming: true }, (request, response) => {
    if (request.json.method === 'GetTask') {
      const shown = artifacts === undefined ? {} : { artifacts }
      return replyResult(request, response, taskOf('COMPLETED', shown))
    }
    if (request.json.method !== 'SubscribeToTask') return replyError(request, response, -32601)
    openSse(response)
    sendEvent(request, response, { task: taskOf('SUBMITTED') })
    for (const event of events) sendEvent(request, response, event)
  })
  const peer = createA2aPeer(
    { connections, clock: CLOCK },
    { name: 'agent', card: { url: agent.cardUrl }, trusted: false },
  )
  const handle = sealHandle('agent', { taskId: 'T1', contextId: 'X1' })
  // Awaited here: the agent is closed when this function ends.
  return await reduceNews(peer.upstream.work!.follow(handle, undefined, NEVER))
}

describe('C79 append to an artifact never begun', () => {
  it('C79 the chunks are all there, marked headless, and are not accepted', async () => {
    // This agent dropped them from its own task.
    const seen = await followEvents(C79.given.events, undefined)
    expect(seen.texts).toEqual({ 'out-1': 'Hello world' })
    expect(seen.records).toMatchObject([{ artifactId: 'out-1', headless: true }])
    expect(judgeRecords(seen.records, {})).toEqual([{ reason: 'headless', name: 'out-1' }])
  })

  it('C79 the task itself shows it whole: one entry, the whole content', async () => {
    const whole = [{ artifactId: 'out-1', parts: [{ text: 'Hello' }, { text: ' world' }] }]
    const seen = await followEvents(C79.given.events, whole)
    expect(seen.texts).toEqual({ 'out-1': 'Hello world' })
    expect(seen.records).toMatchObject([{ artifactId: 'out-1', headless: false, parts: 2 }])
  })

  it('C79 variant: each chunk under a fresh id stays its own, each headless', async () => {
    const events = C79.given.events.map((event, index) => {
      const update = event['artifactUpdate'] as { artifact: object } | undefined
      if (update === undefined) return event
      const artifact = { ...update.artifact, artifactId: `out-${index}` }
      return { artifactUpdate: { ...update, artifact } }
    })
    const seen = await followEvents(events, undefined)
    expect(seen.texts).toEqual({ 'out-1': 'Hello', 'out-2': ' world' })
    expect(seen.records.every((record) => record.headless)).toBe(true)
  })

  it('C79 completed with an empty artifact is not accepted', async () => {
    const seen = await followEvents(
      [C79.given.events[0]!, C79.given.events[3]!],
      [{ artifactId: 'out-1' }],
    )
    expect(judgeRecords(seen.records, {})).toEqual([{ reason: 'empty', name: 'out-1' }])
  })
})

const chunk = (artifactId: string, text: string, append = false): ArtifactChunk => ({
  artifactId,
  append,
  last: true,
  parts: [{ kind: 'text', text }],
})

describe('the artifacts of a task as read', () => {
  const read = (artifacts: readonly Artifact[], text: string) =>
    chunksOfTask(artifacts, text, wholeSpan(text), true)

  it('one entry an id, a repeated id joined', () => {
    const artifacts: Artifact[] = [
      { artifactId: 'a', parts: [{ text: '1' }] },
      { artifactId: 'b', parts: [{ text: 'x' }] },
      { artifactId: 'a', parts: [{ text: '2' }] },
    ]
    const chunks = read(artifacts, JSON.stringify({ artifacts }))
    expect(chunks.map(({ artifactId, parts }) => [artifactId, parts.length])).toEqual([
      ['a', 2],
      ['b', 1],
    ])
  })

  it('every kind of part arrives, data as it was written', () => {
    const text =
      '{"artifacts":[{"artifactId":"a","parts":[{"text":""},{"raw":"_-8","media_type":"x/y"},{"url":"https://h/f","filename":"f"},{"data": {"n": 12345678901234567890}},{"data":null}]}]}'
    const { artifacts } = JSON.parse(text) as { artifacts: Artifact[] }
    expect(read(artifacts, text)[0]?.parts).toEqual([
      { kind: 'text', text: '' },
      { kind: 'raw', bytes: Buffer.from([0xff, 0xef]) },
      { kind: 'url', url: 'https://h/f', filename: 'f' },
      { kind: 'data', json: '{"n": 12345678901234567890}' },
      { kind: 'data', json: 'null' },
    ])
  })
})

describe('bounds', () => {
  const limits = { maxArtifacts: 2, maxBytes: 10 }

  it('an artifact that grows past the limit is emptied and takes nothing more', () => {
    const first = takeChunk(NOTHING_TAKEN, chunk('a', '123456'), limits)
    const second = takeChunk(first.taken, chunk('a', '78901', true), limits)
    expect(second.chunk).toEqual({ artifactId: 'a', append: false, last: true, parts: [] })
    const third = takeChunk(second.taken, chunk('a', '2', true), limits)
    expect(third.chunk).toBeUndefined()
    const other = takeChunk(third.taken, chunk('b', '1234567890'), limits)
    expect(other.chunk?.parts).toHaveLength(1)
  })

  it('the same holds for a snapshot', () => {
    const taken = takeSnapshot(
      [chunk('a', '12345678901'), chunk('b', 'x'), chunk('c', 'y')],
      limits,
    )
    expect(taken.chunks.map(({ artifactId, parts }) => [artifactId, parts.length])).toEqual([
      ['a', 0],
      ['b', 1],
      ['comity:not-kept', 0],
    ])
  })

  it('more artifacts than are kept stand as one without content, once, and are not accepted', async () => {
    const first = takeSnapshot([chunk('a', '1'), chunk('b', '2'), chunk('c', '3')], limits)
    expect(first.chunks[2]).toEqual({
      artifactId: 'comity:not-kept',
      name: 'more than 2 artifacts came, the others are not kept',
      append: false,
      last: true,
      parts: [],
    })
    expect(takeChunk(first.taken, chunk('d', '4'), limits).chunk).toBeUndefined()
    // No artifact of the agent's can take its place.
    expect(takeChunk(first.taken, chunk('comity:not-kept', '5'), limits).chunk).toBeUndefined()
    expect(takeChunk(first.taken, chunk('b', '6'), limits).chunk?.parts).toHaveLength(1)

    const events = Array.from({ length: 1100 }, (_, index) => ({
      artifactUpdate: {
        taskId: 'T1',
        contextId: 'X1',
        artifact: { artifactId: `m${index}`, parts: [{ text: 'x' }] },
        lastChunk: true,
      },
    }))
    const seen = await followEvents(events, undefined)
    expect(seen.records).toHaveLength(1001)
    expect(judgeRecords(seen.records, {})).toEqual([
      { reason: 'empty', name: 'more than 1000 artifacts came, the others are not kept' },
    ])
  })
})
