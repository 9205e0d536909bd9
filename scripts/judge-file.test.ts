import { expect, test } from 'vitest'
import { judgeExample, judgeSource, type Packages } from './judge-file.ts'
import { readSource } from './source-tree.ts'

const packages: Packages = {
  name: 'comity',
  shipped: new Set(['undici', 'zod']),
  development: new Set(['vitest', 'ajv']),
}

function judge(path: string, source: string): string[] {
  return judgeSource(readSource(path, source), packages).map(({ message }) => message)
}

test.each([
  ['src/core/gate.ts', `import { a } from './words/call.ts'`],
  ['src/core/words/call.ts', `export { a } from '../gate.ts'`],
  ['src/core/gate.test.ts', `import { test } from 'vitest'\nimport { join } from 'node:path'`],
  ['src/mcp/wire/codec.ts', `import type { A } from '../../core/words/call.ts'`],
  ['src/mcp/upstream/http.ts', `import { Pool } from 'undici'\nimport { on } from 'node:events'`],
  ['src/mcp/upstream/http.test.ts', `import { peer } from '../../testkit/peer.ts'`],
  ['src/bridge/a.ts', `import type { A } from '../mcp/wire/codec.ts'`],
  ['src/documents/serve.ts', `import { door } from '../mcp/downstream/modern.ts'`],
  ['src/store/open.ts', `new URL('./worker.ts', import.meta.url)`],
  ['src/gateway/config/load.ts', `const { HOME } = process.env`],
  ['src/gateway/http.ts', `import { z } from 'zod'\nimport { a } from '../store/open.ts'`],
  ['src/cli/up.ts', `import { up } from '../gateway/up.ts'\nprocess.env.COMITY_CONFIG`],
  ['src/cli/version.ts', `new URL('../../package.json', import.meta.url)`],
  ['src/index.ts', `export { createHost } from './gateway/compose/host.ts'`],
  ['src/mcp/wire/table.gen.ts', `// oxlint-disable\n${'//\n'.repeat(600)}`],
  ['src/mcp/a.ts', `const text = 'process.env and export default and @ts-ignore'`],
  ['src/mcp/a.ts', `interface A { export: 1; default: 2 }`],
])('%s may: %s', (path, source) => {
  expect(judge(path, source)).toEqual([])
})

test.each([
  // Core stands alone.
  ['src/core/gate.ts', `import { a } from '../mcp/wire/codec.ts'`, 'core may not import from mcp/'],
  ['src/core/gate.ts', `import type { A } from '../store/a.ts'`, 'core may not import from store/'],
  ['src/core/gate.ts', `import type { A } from 'zod'`, 'core may not import the package zod'],
  ['src/core/gate.ts', `import { join } from 'node:path'`, 'core imports nothing from Node'],
  ['src/core/gate.ts', `import { join } from 'path'`, 'write node:path'],
  ['src/core/gate.test.ts', `import { a } from '../mcp/wire/codec.ts'`, 'core may not import'],
  // The protocols never know each other, nor what is above them, however it is written.
  ['src/mcp/a.ts', `import type { A } from '../a2a/wire/card.ts'`, 'mcp may not import from a2a/'],
  ['src/a2a/a.ts', `export { a } from '../mcp/wire/codec.ts'`, 'a2a may not import from mcp/'],
  ['src/a2a/a.ts', `export type { A } from '../store/a.ts'`, 'a2a may not import from store/'],
  ['src/a2a/a.ts', `await import('../gateway/http.ts')`, 'a2a may not import from gateway/'],
  ['src/mcp/a.ts', `type A = typeof import('../a2a/a.ts')`, 'mcp may not import from a2a/'],
  ['src/mcp/a.ts', `type A = import('../a2a/a.ts').B`, 'mcp may not import from a2a/'],
  ['src/mcp/a.ts', `new URL('../a2a/worker.ts', import.meta.url)`, 'mcp may not import from a2a/'],
  ['src/mcp/a.ts', `new URL('../a2a/worker.js', import.meta.url)`, 'mcp may not import from a2a/'],
  ['src/mcp/a.ts', `require('../a2a/a.ts')`, 'mcp may not import from a2a/'],
  ['src/mcp/a.ts', `import(name)`, 'must name its file as a plain string'],
  ['src/mcp/a.ts', `import { z } from 'zod'`, 'mcp may not import the package zod'],
  [
    'src/functions/a.ts',
    `import { a } from '../bridge/a.ts'`,
    'functions may not import from bridge/',
  ],
  // The bridge reads shapes, and only those of the wires.
  [
    'src/bridge/a.ts',
    `import { a } from '../mcp/wire/codec.ts'`,
    'may only `import type` from mcp/wire',
  ],
  ['src/bridge/a.ts', `import { type A } from '../a2a/wire/card.ts'`, 'may only `import type`'],
  [
    'src/bridge/a.ts',
    `import type { A } from '../mcp/upstream/a.ts'`,
    'bridge may not import from mcp/',
  ],
  [
    'src/documents/a.ts',
    `import { a } from '../mcp/upstream/a.ts'`,
    'documents may not import from mcp/',
  ],
  ['src/documents/a.ts', `import { a } from '../gateway/a.ts'`, 'documents may not import'],
  ['src/store/a.ts', `import { a } from '../mcp/wire/a.ts'`, 'store may not import from mcp/'],
  ['src/models/a.ts', `import { a } from '../bridge/a.ts'`, 'models may not import'],
  ['src/gateway/a.ts', `import { a } from '../cli/a.ts'`, 'gateway may not import from cli/'],
  [
    'src/gateway/a.ts',
    `import { a } from '../testkit/a.ts'`,
    'gateway may not import from testkit/',
  ],
  ['src/cli/a.ts', `import { a } from '../mcp/wire/a.ts'`, 'cli may not import from mcp/'],
  // What is not shipped is not imported.
  ['src/gateway/a.ts', `import Ajv from 'ajv'`, 'ajv is not a dependency of the published package'],
  ['src/gateway/a.ts', `import { a } from './a.test.ts'`, 'is test code'],
  ['src/gateway/a.test.ts', `import { a } from 'left-pad'`, 'left-pad is not in package.json'],
  ['src/gateway/a.ts', `import { a } from 'comity'`, 'by its relative path'],
  [
    'src/gateway/a.ts',
    `import { a } from '../../scripts/a.ts'`,
    'nothing under src reaches outside',
  ],
  ['src/common/a.ts', ``, 'src/common is not in the table'],
  // Form.
  ['src/mcp/a.ts', `export default 1`, 'no default export'],
  ['src/mcp/a.ts', `export { a as default }`, 'no default export'],
  ['src/mcp/a.ts', `export * from './b.ts'`, 'no `export *`'],
  ['src/mcp/a.ts', `export type * from './b.ts'`, 'no `export *`'],
  ['src/mcp/a.ts', '\n'.repeat(501), '501 lines, at most 500'],
  ['src/mcp/a.ts', `process.env.HOME`, 'the environment is read only in'],
  ['src/mcp/a.ts', `process?.['env']`, 'the environment is read only in'],
  ['src/mcp/a.ts', `globalThis.process.env`, 'the environment is read only in'],
  ['src/mcp/a.ts', `\`\${process.env.HOME}\``, 'the environment is read only in'],
  ['src/mcp/a.ts', `const { env } = process`, 'the environment is read only in'],
  ['src/mcp/a.ts', `import { env } from 'node:process'`, 'the environment is read only in'],
  ['src/mcp/a.ts', `import process from 'node:process'`, 'the environment is read only in'],
  ['src/gateway/http/a.ts', `process.env`, 'the environment is read only in'],
  ['src/mcp/a.ts', `// oxlint-disable-next-line no-console`, 'no rule is switched off here'],
  ['src/mcp/a.ts', `/* eslint-disable */`, 'no rule is switched off here'],
  ['src/mcp/a.ts', `// @ts-ignore`, 'no rule is switched off here'],
  ['src/mcp/a.test.ts', `// @ts-expect-error it should not`, 'no rule is switched off here'],
  ['src/mcp/a.ts', `// @ts-nocheck`, 'no rule is switched off here'],
])('%s may not: %s', (path, source, expected) => {
  const messages = judge(path, source)
  expect(messages).toHaveLength(1)
  expect(messages[0]).toContain(expected)
})

test('a finding names the line', () => {
  const file = readSource('src/core/a.ts', `\n\nimport { a } from 'zod'`)
  expect(judgeSource(file, packages)[0]).toMatchObject({ file: 'src/core/a.ts', line: 3 })
})

test('an example uses comity by its name, and its agent not at all', () => {
  const examples = (path: string, source: string) =>
    judgeExample(readSource(path, source)).map(({ message }) => message)
  expect(examples('examples/story/host.ts', `import { createHost } from 'comity'`)).toEqual([])
  expect(examples('examples/story/host.ts', `import { a } from './agent/a.ts'`)).toEqual([])
  expect(examples('examples/story/host.ts', `import { a } from '../../src/core/gate.ts'`)).toEqual([
    'an example imports comity by its name, not src/core/gate.ts',
  ])
  expect(examples('examples/story/agent/a.ts', `import { createHost } from 'comity'`)).toEqual([
    'an example agent stands for a stranger and imports nothing from comity',
  ])
})
