import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomUUID } from 'node:crypto'
import { Role, TaskState } from '@a2a-js/sdk'
import { expect, onTestFinished, test } from 'vitest'
import { dataPart, enterState, textPart } from './task-changes.ts'
import { openTaskFiles } from './task-files.ts'
import { createRecord, type TaskRecord } from './task-record.ts'
import { createTaskRoom } from './task-room.ts'

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'spec-comparison-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

function makeRecord(): TaskRecord {
  const id = randomUUID()
  const message = {
    messageId: 'm1',
    contextId: 'c1',
    taskId: id,
    role: Role.ROLE_USER,
    parts: [dataPart({ exact: [null, true, 'ü'] }), { ...textPart(''), content: rawContent() }],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  }
  const status = { state: TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp: undefined }
  const task = {
    id,
    contextId: 'c1',
    status,
    artifacts: [],
    history: [message],
    metadata: undefined,
  }
  return createRecord(task)
}

function rawContent() {
  return { $case: 'raw' as const, value: Buffer.from([0, 255, 7]) }
}

test('a record comes back from the disk as it was saved', async () => {
  const folder = await makeFolder()
  const record = { ...makeRecord(), asked: 2, question: 'target' as const }
  await (await openTaskFiles(folder)).save(record)

  const again = await openTaskFiles(folder)
  expect(await again.list()).toEqual([record.task.id])
  expect(await again.load(record.task.id)).toEqual(record)
})

test('what a crash left half written is cleared away and the old record stands', async () => {
  const folder = await makeFolder()
  const record = makeRecord()
  await (await openTaskFiles(folder)).save(record)
  await writeFile(join(folder, `${record.task.id}.json.new`), '{"format":1,"ta')

  const again = await openTaskFiles(folder)
  expect(await readdir(folder)).toEqual([`${record.task.id}.json`])
  expect((await again.load(record.task.id))?.task.id).toBe(record.task.id)
})

test('an id that is not of our form is nothing, whatever file it would name', async () => {
  const folder = await makeFolder()
  await writeFile(join(folder, 'outside.json'), '{}')
  const files = await openTaskFiles(join(folder, 'tasks'))
  expect(await files.load('../outside')).toBeUndefined()
  expect(await files.load(randomUUID())).toBeUndefined()
})

test('subscribers see a snapshot and then every change once, in the order of the disk', async () => {
  const files = await openTaskFiles(await makeFolder())
  const record = makeRecord()
  await files.save(record)
  const room = createTaskRoom(files, record)
  const note = (text: string, state = TaskState.TASK_STATE_WORKING) =>
    room.commit((draft) => enterState(draft, state, [textPart(text)]))

  const changes = [note('one'), note('two')]
  await changes[0]
  const late = room.subscribe()
  changes.push(note('three'), note('end', TaskState.TASK_STATE_COMPLETED), note('never'))
  expect(await Promise.all(changes)).toEqual([true, true, true, true, false])

  const heard: string[] = []
  for await (const event of late.events()) {
    const part = event.$case === 'statusUpdate' ? event.value.status?.message?.parts[0] : undefined
    heard.push(part?.content?.$case === 'text' ? part.content.value : '')
  }
  const first = late.snapshot.status?.message?.parts[0]?.content
  expect([first?.$case === 'text' ? first.value : '', ...heard]).toEqual([
    'one',
    'two',
    'three',
    'end',
  ])
  expect((await files.load(record.task.id))?.task.status?.state).toBe(
    TaskState.TASK_STATE_COMPLETED,
  )
})
