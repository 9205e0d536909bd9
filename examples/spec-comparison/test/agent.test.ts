import { readFileSync } from 'node:fs'
import { TaskState, type Artifact, type StreamResponse } from '@a2a-js/sdk'
import type { Client } from '@a2a-js/sdk/client'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import type { Differences } from '../agent/compare.ts'
import { dataPart, textPart } from '../agent/task-changes.ts'
import {
  artifactText,
  briefParts,
  getTask,
  makeBrief,
  makeRequest,
  makeStateFolder,
  sendForTask,
  startAgent,
  textOf,
  until,
} from './agent-process.ts'
import { FROM, PACKAGE, realTarget, TO } from './real-input.ts'

const COMPLETED = TaskState.TASK_STATE_COMPLETED
const INPUT_REQUIRED = TaskState.TASK_STATE_INPUT_REQUIRED

function compileSchema(name: string) {
  const path = new URL(`../schemas/${name}.schema.json`, import.meta.url)
  const ajv = new Ajv2020({ strict: true, allErrors: true, allowUnionTypes: true })
  return ajv.compile(JSON.parse(readFileSync(path, 'utf8')) as object)
}

/** What an uninterrupted, honest agent delivers; every other delivery is measured by it. */
async function deliverOnce(options: { forge?: boolean } = {}) {
  const agent = await startAgent({ state: await makeStateFolder(), ...options })
  const task = await sendForTask(agent.client, makeRequest(briefParts(makeBrief('^1.30.0'))))
  expect(task.status?.state).toBe(COMPLETED)
  return {
    report: artifactText(task, 'report.md'),
    differences: artifactText(task, 'differences.json'),
  }
}

/** Puts artifacts together from their chunks, as a client that streams has to. */
function collectChunks(events: readonly StreamResponse[]): Map<string, Artifact> {
  const artifacts = new Map<string, Artifact>()
  for (const { payload } of events) {
    if (payload?.$case !== 'artifactUpdate' || payload.value.artifact === undefined) continue
    const { artifact, append } = payload.value
    const before = append ? artifacts.get(artifact.artifactId)?.parts : []
    if (before === undefined) throw new Error('a chunk was appended to nothing')
    artifacts.set(artifact.artifactId, { ...artifact, parts: [...before, ...artifact.parts] })
  }
  return artifacts
}

/** Listens for so many events at most, the snapshot among them. */
async function countEvents(client: Client, id: string, most: number): Promise<number> {
  let seen = 0
  try {
    for await (const _event of client.resubscribeTask({ tenant: '', id })) {
      seen += 1
      if (seen === most) break
    }
  } catch (error) {
    // The task may end between the look at it and the subscription.
    expect(error).toMatchObject({ message: expect.stringMatching(/has ended/) as string })
  }
  return seen
}

test('a brief without a range is asked about, and the answer leads to both artifacts', async () => {
  const agent = await startAgent({ state: await makeStateFolder() })
  const brief = makeBrief()
  expect(compileSchema('brief')(brief)).toBe(true)

  const asked: StreamResponse[] = []
  for await (const event of agent.client.sendMessageStream(makeRequest(briefParts(brief)))) {
    asked.push(event)
  }
  const first = asked[0]?.payload
  if (first?.$case !== 'task') throw new Error('a stream begins with its task')
  const question = await getTask(agent.client, first.value.id)
  expect(question.status?.state).toBe(INPUT_REQUIRED)
  const [text, schema] = question.status?.message?.parts ?? []
  expect(textOf(text === undefined ? [] : [text])).toContain(`does ${PACKAGE} declare?`)
  if (schema?.content?.$case !== 'data') throw new Error('the question has no schema')
  const answer = { sdkRange: '^1.30.0', citation: realTarget().citation }
  expect(new Ajv2020().validate(schema.content.value as object, answer)).toBe(true)

  const events: StreamResponse[] = []
  const reply = makeRequest([textPart('It is ^1.30.0.'), dataPart(answer)], { task: question })
  for await (const event of agent.client.sendMessageStream(reply)) events.push(event)

  const task = await getTask(agent.client, question.id)
  expect(task.status?.state).toBe(COMPLETED)
  expect(
    task.artifacts.map(({ name, parts }) => [name, parts[0]?.filename, parts[0]?.mediaType]),
  ).toEqual([
    ['differences.json', 'differences.json', 'application/json'],
    ['report.md', 'report.md', 'text/markdown'],
  ])
  expect([...collectChunks(events).values()]).toEqual(task.artifacts)
  const chunks = events.flatMap(({ payload }) =>
    payload?.$case === 'artifactUpdate' && payload.value.artifact?.name === 'report.md'
      ? [[payload.value.append, payload.value.lastChunk]]
      : [],
  )
  expect(chunks.length).toBeGreaterThan(2)
  expect(chunks).toEqual(chunks.map((_, at) => [at > 0, at === chunks.length - 1]))

  const isReport = compileSchema('report')
  const differences = JSON.parse(artifactText(task, 'differences.json')) as Differences
  expect(isReport(differences), JSON.stringify(isReport.errors)).toBe(true)
  expect(differences).toMatchObject({
    from: { document: FROM },
    to: { document: TO },
    target: { package: PACKAGE, ...answer },
  })
  expect(task.history.map(({ role }) => role)).toEqual([1, 2, 1])
})

test('killed after every second event, the agent still delivers the same bytes', async () => {
  const honest = await deliverOnce()
  const state = await makeStateFolder()
  let agent = await startAgent({ state, paceMs: 40 })
  const { port } = agent
  const request = makeRequest(briefParts(makeBrief('^1.30.0')), { returnImmediately: true })
  const { id } = await sendForTask(agent.client, request)
  let kills = 0
  while ((await getTask(agent.client, id)).status?.state !== COMPLETED) {
    if ((await countEvents(agent.client, id, 3)) < 3) continue
    await agent.kill()
    kills += 1
    agent = await startAgent({ state, port, paceMs: 40 })
  }

  expect(kills).toBeGreaterThan(3)
  const task = await getTask(agent.client, id)
  expect(artifactText(task, 'report.md')).toBe(honest.report)
  expect(artifactText(task, 'differences.json')).toBe(honest.differences)
}, 60_000)

test('a client that only polls sees the end of a task that outlived its agent', async () => {
  const state = await makeStateFolder()
  const before = await startAgent({ state, paceMs: 300 })
  const request = makeRequest(briefParts(makeBrief('^1.30.0')), { returnImmediately: true })
  const { id } = await sendForTask(before.client, request)
  await until(
    'work',
    async () =>
      (await getTask(before.client, id)).status?.state === TaskState.TASK_STATE_WORKING ||
      undefined,
  )
  await before.kill()

  const after = await startAgent({ state, port: before.port })
  const task = await until('the end', async () => {
    const now = await getTask(after.client, id)
    return now.status?.state === COMPLETED ? now : undefined
  })
  expect(artifactText(task, 'report.md')).toMatch(/^# 2025-11-25 to 2026-07-28/)
})

test('a question outlives the agent, and a text alone can answer it', async () => {
  const state = await makeStateFolder()
  const before = await startAgent({ state })
  const asked = await sendForTask(before.client, makeRequest(briefParts(makeBrief())))
  expect(asked.status?.state).toBe(INPUT_REQUIRED)
  await before.kill()

  const after = await startAgent({ state, port: before.port })
  expect((await getTask(after.client, asked.id)).status).toEqual(asked.status)
  const listener = after.client.resubscribeTask({ tenant: '', id: asked.id })
  expect((await listener.next()).value).toMatchObject({ payload: { $case: 'task' } })
  const task = await sendForTask(after.client, makeRequest([textPart('^1.30.0')], { task: asked }))

  expect(task.status?.state).toBe(COMPLETED)
  const differences = JSON.parse(artifactText(task, 'differences.json')) as Differences
  expect(differences.target.citation).toEqual(realTarget().citation)
  let last: StreamResponse | undefined
  for await (const event of listener) last = event
  expect(last?.payload).toMatchObject({
    $case: 'statusUpdate',
    value: { status: { state: COMPLETED } },
  })
})

test('the forged variant differs from the honest one in one quote', async () => {
  const honest = await deliverOnce()
  const forged = await deliverOnce({ forge: true })
  expect(forged.differences).toBe(honest.differences)
  const lines = honest.report.split('\n')
  const changed = forged.report.split('\n').filter((line, index) => line !== lines[index])
  expect(changed).toHaveLength(1)
  expect(changed[0]).toMatch(/^ {2}\{"id":"c\d+",.*"quote":".* \(optional\)"/)
})

test('an answer the manifest does not bear out is asked about again, three times at most', async () => {
  const agent = await startAgent({ state: await makeStateFolder() })
  let task = await sendForTask(agent.client, makeRequest(briefParts(makeBrief())))
  const answer = async (...parts: Parameters<typeof makeRequest>[0]) => {
    task = await sendForTask(agent.client, makeRequest(parts, { task }))
    return textOf(task.status?.message?.parts)
  }
  expect(await answer(textPart('^1.29.0'))).toContain('declares @modelcontextprotocol/sdk ^1.30.0')
  expect(task.status?.state).toBe(INPUT_REQUIRED)
  expect(await answer(textPart('I do not know'))).toContain('expected one range')
  expect(task.status?.state).toBe(INPUT_REQUIRED)
  expect(await answer(dataPart({ range: 1 }))).toContain('I asked 3 times')
  expect(task.status?.state).toBe(TaskState.TASK_STATE_FAILED)
  expect(task.artifacts).toEqual([])
})

test('a malformed brief is rejected with what is wrong, and a missing one is asked for', async () => {
  const agent = await startAgent({ state: await makeStateFolder() })
  const rejected = await sendForTask(agent.client, makeRequest(briefParts({ goal: '', scope: {} })))
  expect(rejected.status?.state).toBe(TaskState.TASK_STATE_REJECTED)
  expect(textOf(rejected.status?.message?.parts)).toMatch(
    /brief\/goal must NOT have fewer.*must have required property 'from'/,
  )

  const bare = await sendForTask(agent.client, makeRequest([textPart('compare something')]))
  expect(bare.status?.state).toBe(INPUT_REQUIRED)
  const done = await sendForTask(
    agent.client,
    makeRequest(briefParts(makeBrief('^1.30.0')), { task: bare }),
  )
  expect([done.id, done.status?.state]).toEqual([bare.id, COMPLETED])
})

test('a document that cannot be read, or is no list, ends the task with the reason', async () => {
  const agent = await startAgent({ state: await makeStateFolder() })
  const failWith = async (to: string) => {
    const target = { package: PACKAGE, sdkRange: '^1.30.0' }
    const brief = { goal: 'g', scope: { from: FROM, to, target } }
    const task = await sendForTask(agent.client, makeRequest(briefParts(brief)))
    expect(task.status?.state).toBe(TaskState.TASK_STATE_FAILED)
    return textOf(task.status?.message?.parts)
  }
  expect(await failWith('requirements/none.yaml')).toContain('no document "requirements/none.yaml"')
  expect(await failWith('server-everything/package.json')).toContain(
    'the section server is missing',
  )
})

test('a documents server that does not start ends the task, not the agent', async () => {
  const docs = [process.execPath, '-e', 'process.exit(1)']
  const agent = await startAgent({ state: await makeStateFolder(), docs })
  const task = await sendForTask(agent.client, makeRequest(briefParts(makeBrief('^1.30.0'))))
  expect(task.status?.state).toBe(TaskState.TASK_STATE_FAILED)
  expect(textOf(task.status?.message?.parts)).toContain('the documents server did not answer')
  expect((await getTask(agent.client, task.id)).status?.state).toBe(TaskState.TASK_STATE_FAILED)
})
