import { expect, test } from 'vitest'
import { dropUnsoundTrace, isTraceValue, type TraceKey } from './trace-context.ts'

const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

test.each<[TraceKey, string]>([
  ['traceparent', PARENT],
  ['traceparent', `01${PARENT.slice(2)}-what-a-later-version-adds`],
  ['tracestate', 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE'],
  ['tracestate', 'tenant@vendor=1 , b=2'],
  ['baggage', 'userId=alice,serverNode=DF%2028;meta=1'],
])('%s %s travels', (key, value) => {
  expect(isTraceValue(key, value)).toBe(true)
})

test.each<[TraceKey, string]>([
  ['traceparent', ''],
  ['traceparent', PARENT.toUpperCase()],
  ['traceparent', `ff${PARENT.slice(2)}`],
  ['traceparent', `${PARENT}-more`],
  ['traceparent', '00-00000000000000000000000000000000-b7ad6b7169203331-01'],
  ['traceparent', '00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01'],
  ['traceparent', `${PARENT}\n`],
  ['tracestate', 'no value'],
  ['tracestate', 'a=b\r\nx: y'],
  ['tracestate', Array.from({ length: 33 }, (_, index) => `k${index}=1`).join(',')],
  ['baggage', 'a b=c'],
  ['baggage', 'a="quoted"'],
  ['baggage', ','],
])('%s %j does not', (key, value) => {
  expect(isTraceValue(key, value)).toBe(false)
})

test('only what is unsound is taken out, every other byte stays', () => {
  const text = `{ "tracestate": "no", "own" : 1e0, "traceparent":"${PARENT}", "baggage": 5 }`
  const left = Buffer.from(dropUnsoundTrace(Buffer.from(text))).toString()
  expect(JSON.parse(left)).toEqual({ own: 1, traceparent: PARENT })
  expect(left).toContain('"own" : 1e0')
  const sound = Buffer.from(`{"traceparent":"${PARENT}"}`)
  expect(dropUnsoundTrace(sound)).toBe(sound)
})
