/** The rounds of an operator's call: one continuation, one that goes on with it. */
import { expect, test } from 'vitest'
import type { Dispatched } from '../../core/ports/doors.ts'
import { mcpNative } from '../../mcp/wire/native.ts'
import { encodeJson } from '../../mcp/wire/spans.ts'
import { createAskingCalls, openLive } from './asking.ts'
import { reportCall, takeOver } from './call-rounds.ts'
import type { Live } from './operator.ts'

const DONE: Dispatched = {
  callId: 'c-1',
  outcome: {
    state: 'completed',
    native: mcpNative(encodeJson({ content: [] }), '2025-11-25'),
    toolError: false,
  },
}

test('a second one that goes on with a call is told so, and takes nothing from the first', async () => {
  const live: Live = { signal: new AbortController().signal, event: () => undefined }
  const gate = Promise.withResolvers<void>()
  const asking = createAskingCalls(() => undefined)
  const by = { principal: 'local', asker: live, bytes: 0 }
  const call = asking.begin(by, openLive(live, 60_000, true), async (exchange) => {
    const native = mcpNative(encodeJson({ method: 'elicitation/create', params: {} }), '2025-11-25')
    const question = { kind: 'form', key: 'k', text: '', native } as const
    await exchange.ask?.(question, new AbortController().signal)
    await gate.promise
    return DONE
  })
  expect((await call.next()).kind).toBe('asked')
  const sealed = { kind: 'parked', callId: 'c-1', parked: call.id } as const
  const answers = [{ key: 'q1', action: 'decline' }] as const

  const first = takeOver(asking, sealed, answers, live, reportCall)
  const second = takeOver(asking, sealed, answers, live, reportCall)
  await expect(second).rejects.toMatchObject({ code: 'conflict' })
  gate.resolve()

  expect((await first).outcome.state).toBe('completed')
  // Its end was told: that it is unknown would not be true.
  await expect(takeOver(asking, sealed, answers, live, reportCall)).rejects.toMatchObject({
    code: 'conflict',
  })
})
