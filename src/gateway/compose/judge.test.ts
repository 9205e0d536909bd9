import { expect, test } from 'vitest'
import type { Dispatched } from '../../core/ports/doors.ts'
import type { Artifact } from '../../core/words/artifact.ts'
import type { NewCall } from '../../core/words/call.ts'
import { type Failed, type Outcome, refused } from '../../core/words/outcome.ts'
import type { TaskRecord } from '../../core/words/task.ts'
import { nativeOf } from '../../bridge/native-text.ts'
import { LOCAL } from '../../core/words/principal.ts'
import { findCitations } from './citations.ts'
import { createJudge } from './judge.ts'
import { routeOf } from './route-table.ts'
import { capabilityOf, scriptedPeer } from './scripted-peer.fixture.ts'

const citation = {
  document: 'd/a.md',
  version: '1',
  lines: { start: 2, end: 2 },
  quote: 'two',
  digest: 'sha256:aa',
}

const artifact = (name: string, mediaType: string, text: string): Artifact => ({
  artifactId: name,
  name,
  mediaType,
  parts: 1,
  bytes: text.length,
  complete: true,
  headless: false,
  content: [{ kind: 'text', text }],
})

const task: TaskRecord = {
  id: 't-1',
  version: 1,
  owner: LOCAL,
  peer: 'research',
  callId: 'c-1',
  state: 'completed',
  title: '',
  questions: [],
  artifacts: [],
  acceptance: { citations: { resolveWith: 'docs/read_document' } },
  verdict: { state: 'pending' },
  createdAt: '',
  updatedAt: '',
}

const docs = scriptedPeer('docs', { capabilities: [], leftOut: [] })
const route = routeOf(docs, capabilityOf('docs', 'tool', 'read_document'), 'docs_read_document')

function judgeWith(read: Record<string, unknown>, toolError = false) {
  const asked: NewCall[] = []
  const judge = createJudge({
    dispatch: (call): Promise<Dispatched> => {
      asked.push(call)
      const native = nativeOf(
        'mcp',
        '',
        toolError
          ? { content: [{ type: 'text', text: 'no such document' }] }
          : { structuredContent: read },
      )
      return Promise.resolve({ callId: 'c-9', outcome: { state: 'completed', native, toolError } })
    },
    routeTo: () => Promise.resolve(route),
    hostJudge: () => undefined,
    now: () => 0,
  })
  return { judge, asked }
}

test('citations are found in JSON and in fenced JSON of Markdown, each once', () => {
  const json = JSON.stringify({ rows: [{ citations: [citation] }, { citations: [citation] }] })
  const markdown = `# Report\n\n\`\`\`json citations\n${JSON.stringify([{ id: 'c1', ...citation, quote: 'other' }])}\n\`\`\`\n`
  const { citations, faults } = findCitations([
    artifact('a.json', 'application/json', json),
    artifact('r.md', 'text/markdown', markdown),
  ])
  expect(faults).toEqual([])
  expect(citations.map(({ citation: found }) => found.quote).sort()).toEqual(['other', 'two'])
})

test('a broken JSON artifact and a half citation are faults, not silence', () => {
  const { faults } = findCitations([
    artifact('a.json', 'application/json', '{'),
    artifact('b.json', 'application/json', '{"document":"d","quote":"q"}'),
  ])
  expect(faults).toHaveLength(2)
})

test('a citation that resolves to the same bytes is accepted, read on behalf of the task’s owner', async () => {
  const { judge, asked } = judgeWith({ text: 'two', digest: 'sha256:aa', truncated: false })
  expect(
    await judge.judge(task, [artifact('a.json', 'application/json', JSON.stringify(citation))]),
  ).toEqual({
    reasons: [],
    checks: [
      'names, media types and sizes as asked for',
      '1 citations resolved through docs/read_document to the same bytes',
    ],
  })
  expect(asked[0]).toMatchObject({
    principal: LOCAL,
    arguments: { bytes: expect.anything() as unknown },
  })
  expect(asked[0]?.arguments.value()).toEqual({
    document: 'd/a.md',
    version: '1',
    lines: { start: 2, end: 2 },
  })
})

test('another text, another digest, or a document that does not resolve is refused with the place', async () => {
  const delivered = [artifact('a.json', 'application/json', JSON.stringify(citation))]
  const forged = await judgeWith({ text: 'zwei', digest: 'sha256:aa' }).judge.judge(task, delivered)
  expect(forged.reasons).toEqual([
    'a.json: d/a.md lines 2-2: the quote is not what stands there: "zwei"',
  ])
  expect(
    (await judgeWith({ text: 'two', digest: 'sha256:bb' }).judge.judge(task, delivered)).reasons[0],
  ).toContain('digest')
  expect((await judgeWith({}, true).judge.judge(task, delivered)).reasons[0]).toContain(
    'no such document',
  )
})

test('lines that the document does not have are not cited with those that it has', async () => {
  const longer = { ...citation, lines: { start: 2, end: 99 } }
  const delivered = [artifact('a.json', 'application/json', JSON.stringify(longer))]
  const read = { text: 'two', digest: 'sha256:aa', truncated: false, lines: { start: 2, end: 2 } }
  expect((await judgeWith(read).judge.judge(task, delivered)).reasons).toEqual([
    'a.json: d/a.md lines 2-99: the document has only lines 2-2 there',
  ])
})

test('a document named as a source is looked up by its digest, and once when a citation does it', async () => {
  const other = { document: 'd/b.md', digest: 'sha256:bb' }
  const { document, version, digest } = citation
  const delivered = (...sources: readonly object[]): Artifact[] => [
    artifact('a.json', 'application/json', JSON.stringify({ sources, citations: [citation] })),
  ]
  const read = { text: 'two', digest: 'sha256:aa' }
  const covered = judgeWith(read)
  const verdict = await covered.judge.judge(task, delivered({ document, version, digest }))
  expect({ reasons: verdict.reasons, reads: covered.asked.length }).toEqual({
    reasons: [],
    reads: 1,
  })
  expect((await judgeWith(read).judge.judge(task, delivered(other))).reasons).toEqual([
    "a.json: d/b.md: the document's digest is sha256:aa, cited as sha256:bb",
  ])
})

test('no citation at all is refused: nothing can be verified', async () => {
  const { judge } = judgeWith({})
  expect(
    (await judge.judge(task, [artifact('r.md', 'text/markdown', 'trust me')])).reasons,
  ).toEqual(['no citation in any artifact: nothing can be verified'])
})

test('a resolver that is away is no verdict: judging is tried again', async () => {
  const judge = createJudge({
    dispatch: () => expect.unreachable(),
    routeTo: () => Promise.resolve(undefined),
    hostJudge: () => undefined,
    now: () => 0,
  })
  await expect(judge.judge(task, [])).rejects.toThrow('not there now')
})

function judgeAnswered(answer: (call: NewCall) => Promise<Outcome>) {
  return createJudge({
    dispatch: async (call): Promise<Dispatched> => ({
      callId: 'c-9',
      outcome: await answer(call),
    }),
    routeTo: () => Promise.resolve(route),
    hostJudge: () => undefined,
    now: () => 0,
  })
}

test('a citation that no read can be made of is refused, not judged for ever', async () => {
  const impossible = { ...citation, lines: { start: 0, end: -1 } }
  const delivered = [artifact('a.json', 'application/json', JSON.stringify(impossible))]
  const judge = judgeAnswered(() =>
    Promise.resolve(refused('validation', 'bad_arguments', '/lines/start: a number of at least 1')),
  )
  expect((await judge.judge(task, delivered)).reasons).toEqual([
    'a.json: d/a.md lines 0--1: does not resolve (/lines/start: a number of at least 1)',
  ])
})

test('a citation of what its owner may not read, or whose request the peer refuses, is refused', async () => {
  const delivered = [artifact('a.json', 'application/json', JSON.stringify(citation))]
  const answers: readonly Failed[] = [
    refused('policy', 'denied', 'denied by rule 1'),
    refused('peer', 'peer_error', 'docs answered error -32602: no such document'),
  ]
  for (const outcome of answers) {
    const { reasons } = await judgeAnswered(() => Promise.resolve(outcome)).judge(task, delivered)
    expect(reasons).toEqual([`a.json: d/a.md lines 2-2: does not resolve (${outcome.detail})`])
  }
})

test('what says nothing about the delivery is no verdict: judging is tried again', async () => {
  const delivered = [artifact('a.json', 'application/json', JSON.stringify(citation))]
  const answers: readonly Outcome[] = [
    refused('transport', 'peer_unreachable', 'docs: nobody listens'),
    refused('policy', 'pin_changed', 'the definition changed'),
    refused('policy', 'gate_changed', 'the rules changed'),
    refused('policy', 'record_unwritable', 'the disk is full'),
    { state: 'unknown', because: 'sent_no_answer', detail: 'docs: gone' },
  ]
  for (const outcome of answers) {
    await expect(
      judgeAnswered(() => Promise.resolve(outcome)).judge(task, delivered),
    ).rejects.toThrow('could not be looked up')
  }
})

test('a failed judgment has ended every read before it says so, and begins no other', async () => {
  const many = Array.from({ length: 40 }, (_, index) => ({ ...citation, quote: `${index}` }))
  const delivered = [artifact('a.json', 'application/json', JSON.stringify(many))]
  let begun = 0
  let running = 0
  const judge = judgeAnswered(async () => {
    begun += 1
    const first = begun === 1
    running += 1
    await new Promise((resolve) => setImmediate(resolve))
    if (!first) await new Promise((resolve) => setImmediate(resolve))
    running -= 1
    return first
      ? refused('transport', 'peer_unreachable', 'docs: nobody listens')
      : refused('validation', 'bad_arguments', 'no')
  })
  await expect(judge.judge(task, delivered)).rejects.toThrow('nobody listens')
  expect({ begun, running }).toEqual({ begun: 8, running: 0 })
})
