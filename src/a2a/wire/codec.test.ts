import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  contentOf,
  describeViolations,
  encodeWire,
  parseWire,
  REPLY_LIMITS,
  textOf,
} from './codec.ts'

const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }

describe('presence', () => {
  it.each([null, false, 0, '', [], {}, { a: null }])('data %j is a data part', (data) => {
    const parsed = parseWire('Part', { data })
    expect(parsed).toEqual({ ok: true, value: { data }, raw: { data } })
    if (!parsed.ok) return
    expect(contentOf(parsed.value)).toBe('data')
    expect(encodeWire('Part', parsed.value)).toEqual({ data })
  })

  it('the empty text is content, and an absent member stays absent', () => {
    const parsed = parseWire('Part', { text: '' })
    expect(parsed).toEqual({ ok: true, value: { text: '' }, raw: { text: '' } })
  })

  it('null is unset everywhere but in data', () => {
    const parsed = parseWire('Message', { ...message, contextId: null, metadata: null })
    expect(parsed.ok && parsed.value).toEqual(message)
  })

  it('no content member, or two, are refused', () => {
    expect(parseWire('Part', { filename: 'a' })).toEqual({
      ok: false,
      violations: [
        { path: '', message: 'Part needs exactly one of text, raw, url, data; none is there' },
      ],
    })
    expect(parseWire('Part', { text: '', data: null })).toEqual({
      ok: false,
      violations: [
        { path: '', message: 'Part takes one of text, raw, url, data; got text and data' },
      ],
    })
  })
})

describe('names', () => {
  it('snake_case is read as camelCase', () => {
    const parsed = parseWire('Message', {
      message_id: 'm',
      context_id: 'c',
      role: 'ROLE_AGENT',
      parts: [{ data: 1, media_type: 'application/json' }],
    })
    expect(parsed.ok && parsed.value).toEqual({
      messageId: 'm',
      contextId: 'c',
      role: 'ROLE_AGENT',
      parts: [{ data: 1, mediaType: 'application/json' }],
    })
  })

  it('one field under both names is refused', () => {
    const parsed = parseWire('Message', { ...message, contextId: 'a', context_id: 'b' })
    expect(!parsed.ok && parsed.violations[0]?.path).toBe('contextId')
  })

  it('unknown members are passed over in the view and kept in the raw value', () => {
    const odd = { ...message, priority: 3 }
    const parsed = parseWire('Message', odd)
    expect(parsed).toEqual({ ok: true, value: message, raw: odd })
  })
})

describe('0.3 forms', () => {
  it('kind is refused by name wherever 0.3 put it', () => {
    const parsed = parseWire('Message', {
      ...message,
      kind: 'message',
      parts: [{ kind: 'text', text: 'hi' }],
    })
    expect(!parsed.ok && parsed.violations.map((found) => found.path)).toEqual([
      'kind',
      'parts[0].kind',
    ])
    expect(!parsed.ok && describeViolations(parsed.violations)).toContain('0.3 form')
  })

  it('kind inside data and metadata is nobody else’s business', () => {
    const parsed = parseWire('Part', { data: { kind: 'x' }, metadata: { kind: 'y' } })
    expect(parsed.ok).toBe(true)
  })

  it.each([
    ['completed', 'TASK_STATE_COMPLETED'],
    ['input-required', 'TASK_STATE_INPUT_REQUIRED'],
  ])('state %s is refused and %s is named', (state, modern) => {
    const parsed = parseWire('TaskStatus', { state })
    expect(parsed).toEqual({
      ok: false,
      violations: [
        { path: 'state', message: `"${state}" is the 0.3 form; A2A 1.0 writes ${modern}` },
      ],
    })
  })

  it('a role of 0.3, an unspecified role and a state without meaning are refused', () => {
    expect(parseWire('Message', { ...message, role: 'user' }).ok).toBe(false)
    expect(parseWire('Message', { ...message, role: 'ROLE_UNSPECIFIED' }).ok).toBe(false)
    expect(parseWire('TaskStatus', { state: 'TASK_STATE_UNSPECIFIED' }).ok).toBe(false)
    expect(parseWire('ListTasksRequest', { status: 'TASK_STATE_UNSPECIFIED' }).ok).toBe(true)
  })

  it('in a reply the unspecified state is what its agent knows: unknown or indeterminate', () => {
    expect(
      parseWire('TaskStatus', { state: 'TASK_STATE_UNSPECIFIED' }, REPLY_LIMITS),
    ).toMatchObject({
      ok: true,
      value: { state: 'TASK_STATE_UNSPECIFIED' },
    })
    expect(parseWire('TaskStatus', {}, REPLY_LIMITS).ok).toBe(false)
  })
})

describe('all at once', () => {
  it('every violation is listed with its path', () => {
    const parsed = parseWire('SendMessageRequest', {
      message: { role: 'ROLE_USER', parts: [{}, { text: 5 }, { raw: 'a b' }], metadata: [] },
      configuration: { historyLength: 1.5, returnImmediately: 'yes' },
    })
    expect(!parsed.ok && parsed.violations.map((found) => found.path)).toEqual([
      'message.messageId',
      'message.parts[0]',
      'message.parts[1].text',
      'message.parts[2].raw',
      'message.metadata',
      'configuration.historyLength',
      'configuration.returnImmediately',
    ])
  })

  it('a flood of violations is cut', () => {
    const parts = Array.from({ length: 900 }, () => ({}))
    const parsed = parseWire('Message', { ...message, parts })
    expect(!parsed.ok && parsed.violations.length).toBe(50)
  })

  it('no JSON value makes the reader throw', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        for (const name of ['Task', 'StreamResponse', 'SendMessageRequest', 'AgentCard'] as const) {
          const parsed = parseWire(name, value)
          expect(parsed.ok || parsed.violations.length > 0).toBe(true)
        }
      }),
    )
  })
})

describe('limits', () => {
  it('raw parts are counted together', () => {
    const raw = Buffer.alloc(600).toString('base64')
    const limits = { maxRawBytes: 1000 }
    expect(parseWire('Message', { ...message, parts: [{ raw }] }, limits).ok).toBe(true)
    const two = parseWire('Message', { ...message, parts: [{ raw }, { raw }] }, limits)
    expect(!two.ok && two.violations[0]?.message).toContain('more than 1000 bytes')
  })

  it('32 MiB in one message are taken, one byte more is not', () => {
    const size = 32 * 1024 * 1024
    const fits = Buffer.alloc(size).toString('base64')
    const not = Buffer.alloc(size + 1).toString('base64')
    expect(parseWire('Part', { raw: fits }).ok).toBe(true)
    expect(parseWire('Part', { raw: not }).ok).toBe(false)
  })

  it('parts, strings and nesting are bounded', () => {
    const parts = Array.from({ length: 3 }, () => ({ text: 'x' }))
    expect(parseWire('Message', { ...message, parts }, { maxParts: 2 }).ok).toBe(false)
    expect(parseWire('Part', { text: 'xxx' }, { maxStringLength: 2 }).ok).toBe(false)
    let deep: unknown = 1
    for (let level = 0; level < 100_000; level += 1) deep = [deep]
    expect(parseWire('Part', { data: deep }).ok).toBe(false)
  })

  it('empty parts are refused in a request and borne in a reply', () => {
    const empty = { messageId: 'm', role: 'ROLE_AGENT' }
    expect(parseWire('Message', empty).ok).toBe(false)
    expect(parseWire('Message', { ...empty, parts: [] }).ok).toBe(false)
    const reply = parseWire('Message', empty, { emptyLists: 'allow' })
    expect(reply.ok && reply.value.parts).toEqual([])
  })

  it('base64 comes in both alphabets, with padding or without', () => {
    expect(parseWire('Part', { raw: '_-8' }).ok).toBe(true)
    expect(parseWire('Part', { raw: '/+8=' }).ok).toBe(true)
    expect(parseWire('Part', { raw: '' }).ok).toBe(true)
    expect(parseWire('Part', { raw: 'abcde' }).ok).toBe(false)
    expect(parseWire('Part', { raw: 'data:;base64,aa' }).ok).toBe(false)
  })

  it('times need a zone', () => {
    const status = (timestamp: string) =>
      parseWire('TaskStatus', { state: 'TASK_STATE_WORKING', timestamp }).ok
    expect(status('2026-01-31T12:00:00Z')).toBe(true)
    expect(status('2026-01-31T12:00:00.123456+01:00')).toBe(true)
    expect(status('2026-01-31T12:00:00')).toBe(false)
    expect(status('yesterday')).toBe(false)
  })
})

describe('writing', () => {
  it('only members of the table leave', () => {
    const stray = { ...message, kind: 'message', secret: 'x' } as never
    expect(encodeWire('Message', stray)).toEqual(message)
  })

  it('a missing REQUIRED member is a fault of ours', () => {
    expect(() => encodeWire('Message', { messageId: 'm' } as never)).toThrow(TypeError)
  })

  it('an explicitly empty list is written', () => {
    const task = { id: 't', status: { state: 'TASK_STATE_WORKING' }, artifacts: [] } as const
    expect(encodeWire('Task', task)).toEqual(task)
  })
})

it('textOf joins texts and passes over the rest', () => {
  expect(textOf([{ text: 'a' }, { data: 1 }, { text: 'b' }])).toBe('a\nb')
})
