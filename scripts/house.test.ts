import { expect, test } from 'vitest'
import { JOURNEYS, judgeHouse, MAX_SPINE, type Journey } from './house.ts'
import { readSource } from './source-tree.ts'

const journey: Journey = {
  name: 'J',
  builtWith: 'gateway/http',
  legs: {
    call: [
      { spine: 'gateway/http' },
      { spine: 'mcp/door', by: 'import' },
      { spine: 'core/dispatch', by: { port: 'core/ports/doors', names: ['Dispatch'] } },
      { spine: 'mcp/bindings/*', by: { port: 'core/ports/upstream', names: ['Upstream'] } },
    ],
  },
}

const STANDING = {
  'src/gateway/http.ts': `import { compose } from './compose.ts'`,
  'src/gateway/compose.ts': `import { door } from '../mcp/door.ts'\nimport { d } from '../core/dispatch.ts'`,
  'src/mcp/door.ts': `import { tools } from './tools.ts'`,
  'src/mcp/tools.ts': `import type { Dispatch } from '../core/ports/doors.ts'`,
  'src/core/dispatch.ts': `import type { Dispatch } from './ports/doors.ts'\nimport type { Upstream } from './ports/upstream.ts'`,
  'src/mcp/bindings/rest.ts': `import type { Exchange } from '../../core/ports/upstream.ts'`,
}

function judge(changes: Readonly<Record<string, string | undefined>>, judged = journey) {
  const files = Object.entries({ ...STANDING, ...changes }).flatMap(([path, source]) =>
    source === undefined ? [] : [readSource(path, source)],
  )
  return judgeHouse(files, [judged])
}

test('a leg that goes down by imports and ports is proved', () => {
  expect(judge({})).toEqual({
    faults: [],
    proved: ['J, call: gateway/http → mcp/door → core/dispatch → mcp/bindings/*'],
    notBuilt: [],
  })
})

test('a journey whose first file is not there is waited for, not failed', () => {
  expect(judge({ 'src/gateway/http.ts': undefined })).toEqual({
    faults: [],
    proved: [],
    notBuilt: ['J: not built until gateway/http is there'],
  })
})

test('a spine file that is missing fails a built journey', () => {
  expect(judge({ 'src/core/dispatch.ts': undefined }).faults).toEqual([
    'J, call: src/core/dispatch.ts does not exist',
  ])
})

test('a spine file that does not come to the next fails', () => {
  expect(judge({ 'src/gateway/compose.ts': '' }).faults).toEqual([
    'J, call: gateway/http does not come to mcp/door by import',
  ])
  expect(judge({ 'src/mcp/tools.ts': '' }).faults).toEqual([
    'J, call: mcp/door does not come to core/dispatch by Dispatch of core/ports/doors',
  ])
  expect(judge({ 'src/mcp/bindings/rest.ts': '' }).faults).toEqual([
    'J, call: core/dispatch does not come to mcp/bindings/* by Upstream of core/ports/upstream',
  ])
})

test('reaching back up fails, through any number of files', () => {
  const { faults } = judge({
    'src/mcp/bindings/rest.ts': `import type { U } from '../../core/ports/upstream.ts'\nimport { a } from '../a.ts'`,
    'src/mcp/a.ts': `import { door } from './door.ts'`,
  })
  expect(faults).toEqual([
    'J, call: mcp/bindings/* reaches back up: src/mcp/bindings/rest.ts → src/mcp/a.ts → src/mcp/door.ts',
  ])
})

test('a type from above is reaching back up too', () => {
  const { faults } = judge({
    'src/core/dispatch.ts': `${STANDING['src/core/dispatch.ts']}\nimport type { D } from '../mcp/door.ts'`,
  })
  expect(faults).toEqual([
    'J, call: core/dispatch reaches back up: src/core/dispatch.ts → src/mcp/door.ts',
  ])
})

test('a leg of six files is too long', () => {
  const steps = Array.from({ length: MAX_SPINE + 1 }, () => ({ spine: 'gateway/http' }))
  expect(judge({}, { ...journey, legs: { call: steps } }).faults).toEqual([
    'J, call: 6 spine files, at most 5',
  ])
})

test('whatever the journey: dispatch never calls resume, and peers never call core', () => {
  const { faults } = judge({
    'src/core/dispatch.ts': `${STANDING['src/core/dispatch.ts']}\nimport { r } from './resume.ts'`,
    'src/core/resume.ts': '',
    'src/mcp/upstream/client.ts': `import { gate } from '../../core/gate.ts'`,
    'src/core/gate.ts': '',
  })
  expect(faults).toEqual([
    'resume may call dispatch, never the reverse: src/core/dispatch.ts → src/core/resume.ts',
    'peers never call core: src/mcp/upstream/client.ts → src/core/gate.ts',
  ])
})

test('the journeys of this version are five files a leg at most', () => {
  const legs = JOURNEYS.flatMap(({ legs }) => Object.values(legs))
  expect(legs.length).toBeGreaterThan(1)
  for (const leg of legs) expect(leg.length).toBeLessThanOrEqual(MAX_SPINE)
})
