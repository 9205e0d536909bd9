/** Each door against core's ports: every feature in every revision and transport that is served. */
import { PassThrough } from 'node:stream'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { LOCAL } from '../../src/core/words/principal.ts'
import { createHttpDoor } from '../../src/mcp/downstream/http.ts'
import type { DoorOptions } from '../../src/mcp/downstream/options.ts'
import { serveStdio } from '../../src/mcp/downstream/stdio.ts'
import { createHttpWire } from './caller-http.ts'
import { createLineWire } from './caller-lines.ts'
import { answerQuestion, CAN, openCaller, type Caller, type Message } from './caller.ts'
import {
  expectText,
  expectThat,
  findCell,
  textOf,
  until,
  type Cell,
  type Finding,
} from './cells.ts'
import { createCorePort, LARGE, WATCHED, type CorePort } from './core-port.ts'
import { CAN_TASKS, checkDoorTask } from './door-tasks.ts'
import { LOGIN_COMMAND, LOGIN_URL, SCOPE_COMMAND } from './guard.ts'
import type { Json } from './peer.ts'
import { CALLERS, hasQuestion, isModern, nameOf, type Asked, type End } from './revisions.ts'

const OPTIONS: DoorOptions = {
  serverInfo: { name: 'compat', version: '1' },
  sealingKey: new Uint8Array(32).fill(7),
  clock: { now: Date.now },
  // A call that lasts is a task at once.
  limits: { taskAfterMs: 1 },
}

/** Runs every feature at every door. */
export async function runDoors(): Promise<readonly Cell[]> {
  const cells: Cell[] = []
  for (const end of CALLERS) {
    const core = createCorePort()
    const { caller, close } = await openEnd(core, end)
    try {
      for (const [feature, check] of Object.entries(CHECKS)) {
        cells.push(await findCell(nameOf(end), feature, () => check(caller, core, end)))
      }
    } finally {
      await close()
    }
  }
  return cells
}

async function openEnd(
  core: CorePort,
  { revision, transport }: End,
  can: Json = CAN,
): Promise<{ readonly caller: Caller; close(): Promise<void> }> {
  const { catalogue, dispatch, work } = core
  const ports = { catalogue, dispatch, delegation: work.delegation }
  if (transport === 'stdio') {
    const input = new PassThrough()
    const output = new PassThrough()
    const door = serveStdio(ports, { ...OPTIONS, principal: LOCAL, input, output })
    const caller = await openCaller(revision, createLineWire(output, input), can)
    return {
      caller,
      async close() {
        await caller.close()
        await door.done
      },
    }
  }
  const authenticate = async () => ({ principal: LOCAL })
  const door = createHttpDoor(ports, { ...OPTIONS, authenticate })
  const server = createServer((request, response) => door.handle(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const caller = await openCaller(revision, createHttpWire(url), can)
  return {
    caller,
    async close() {
      await caller.close()
      await door.close()
      server.closeAllConnections()
      server.close()
    },
  }
}

type Check = (caller: Caller, core: CorePort, end: End) => Promise<Finding>

const CHECKS: Readonly<Record<string, Check>> = {
  async call(caller) {
    expectText(await caller.call('echo'), 'hello')
    return 'works'
  },
  async error(caller) {
    const { error } = await caller.call('refuse')
    expectThat(error?.['code'] === -32_603 && error['message'] === 'refused', 'another error came')
    return 'works'
  },
  async progress(caller) {
    const progress: Message[] = []
    expectText(await caller.call('progress', {}, { progress }), 'progressed')
    const steps = progress.map(({ params }) => params?.['progress'])
    expectThat(steps.join() === '1,2,3', `progress was ${steps.join()}`)
    return 'works'
  },
  async cancel(caller, core) {
    const progress: Message[] = []
    const started = until(() => progress.length > 0, 'the call is at work')
    caller.call('wait', {}, { progress, until: started }).catch(() => undefined)
    await started
    await until(() => core.stopped.join() === 'caller_canceled', 'the call was told to stop')
    return 'works'
  },
  'elicitation form': (caller, _core, end) => checkAsk(caller, end, 'form', 'elicitation/create'),
  'elicitation url': (caller, _core, end) =>
    checkAsk(caller, end, 'url', 'elicitation/create', { mode: 'url' }),
  sampling: (caller, _core, end) => checkAsk(caller, end, 'sampling', 'sampling/createMessage'),
  async 'list change'(caller) {
    await caller.watch(WATCHED)
    expectText(await caller.call('grow'), 'grown')
    await until(() => has(caller, 'notifications/tools/list_changed'), 'a notice of the change')
    return 'works'
  },
  async 'resource update'(caller) {
    expectText(await caller.call('touch'), 'touched')
    const isUpdate = ({ method, params }: Message): boolean =>
      method === 'notifications/resources/updated' && params?.['uri'] === WATCHED
    await until(() => caller.notices.some(isUpdate), 'a notice of the update')
    return 'works'
  },
  async 'large result'(caller) {
    expectThat(textOf(await caller.call('large')).length === LARGE, 'it is not whole')
    return 'works'
  },
  async 'structured content'(caller, _core, { revision }) {
    const object = (await caller.call('structured')).result?.['structuredContent']
    expectThat(JSON.stringify(object) === '{"total":3,"odd":1e+21}', JSON.stringify(object))
    const list = (await caller.call('array')).result?.['structuredContent']
    const expected = revision === '2026-07-28' ? '[1,2]' : '{"value":[1,2]}'
    expectThat(JSON.stringify(list) === expected, `a list came as ${JSON.stringify(list)}`)
    return 'works'
  },
  deny: (caller) => checkRefusal(caller, 'denied', 'denied'),
  ask: (caller) => checkRefusal(caller, 'asked', 'approval_required'),
  async '401 as url question'(caller, core, { revision }) {
    core.login(false)
    if (!hasQuestion(revision, 'url')) {
      await expectLoginWords(caller, 'guarded', LOGIN_COMMAND)
      return `impossible because ${revision} has no such question; the call ends with the command to run`
    }
    await expectLoginQuestion(caller, core, 'guarded', LOGIN_COMMAND)
    return 'works'
  },
  async '401 as words'(_caller, core, end) {
    const { caller, close } = await openEnd(core, end, {})
    try {
      core.login(false)
      await expectLoginWords(caller, 'guarded', LOGIN_COMMAND)
      core.login(true)
      expectText(await caller.call('guarded'), 'let in')
      return 'works'
    } finally {
      await close()
    }
  },
  async task(_caller, core, end) {
    const { caller, close } = await openEnd(core, end, isModern(end.revision) ? CAN_TASKS : CAN)
    try {
      return await checkDoorTask(caller, core.work, end)
    } finally {
      await close()
    }
  },
  /** As the revision can be told: a question, or the command with the scope. */
  async 'step-up'(caller, core, { revision }) {
    core.login(false)
    if (hasQuestion(revision, 'url')) await expectLoginQuestion(caller, core, 'wide', SCOPE_COMMAND)
    else {
      await expectLoginWords(caller, 'wide', SCOPE_COMMAND)
      core.login(true)
      expectText(await caller.call('wide'), 'let in')
    }
    return 'works'
  },
}

function has(caller: Caller, method: string): boolean {
  return caller.notices.some((notice) => notice.method === method)
}

async function checkAsk(
  caller: Caller,
  { revision }: End,
  kind: Asked,
  method: string,
  params: Json = {},
): Promise<Finding> {
  const message = await caller.call(`ask_${kind}`)
  if (!hasQuestion(revision, kind)) {
    expectText(message, 'not askable')
    return `impossible because ${revision} has no such question; the call learns that its caller cannot be asked`
  }
  expectText(message, `accept ${JSON.stringify(answerQuestion(method, params))}`)
  return 'works'
}

/** Who opens the address calls again, by itself or within its rounds, and is let in. */
async function expectLoginQuestion(
  caller: Caller,
  core: CorePort,
  tool: string,
  words: string,
): Promise<void> {
  const opened: (Json | undefined)[] = []
  const open = (params: Json | undefined): void => {
    opened.push(params)
    core.login(true)
  }
  const onRound = (requests: Readonly<Record<string, Message>>): void => {
    for (const { params } of Object.values(requests)) open(params)
  }
  let message = await caller.call(tool, {}, { onRound })
  if (message.error?.['code'] === -32_042) {
    const { elicitations } = message.error['data'] as { elicitations: readonly Json[] }
    for (const one of elicitations) open(one)
    message = await caller.call(tool)
  }
  const [asked] = opened
  expectThat(
    opened.length === 1 && asked?.['url'] === LOGIN_URL && asked['mode'] === 'url',
    `it was to open ${JSON.stringify(opened)}`,
  )
  expectThat(String(asked?.['message']).includes(words), `it said ${String(asked?.['message'])}`)
  expectText(message, 'let in')
}

async function expectLoginWords(caller: Caller, tool: string, words: string): Promise<void> {
  const message = await caller.call(tool)
  expectThat(message.result?.['isError'] === true, `it said ${JSON.stringify(message)}`)
  expectThat(textOf(message).includes(words), `it said ${textOf(message)}`)
}

async function checkRefusal(caller: Caller, tool: string, code: string): Promise<Finding> {
  const { result } = await caller.call(tool)
  const meta = (result?.['_meta'] ?? {}) as Record<string, Json | undefined>
  const said = meta['comity/outcome']
  expectThat(result?.['isError'] === true && said?.['code'] === code, JSON.stringify(result))
  expectThat(said?.['ran'] === 'no', 'it does not say that nothing ran')
  return 'works'
}
