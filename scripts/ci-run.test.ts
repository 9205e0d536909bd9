import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

const repository = join(import.meta.dirname, '..')
let root = ''
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'comity-ci-'))
  cpSync(join(repository, '.ci/run'), join(root, '.ci/run'))
  mkdirSync(join(root, 'scripts'))
  program('scripts/ci-debian.sh', `echo '2 passed, 0 failed'`)
})
afterEach(() => {
  rmSync(root, { recursive: true, force: true })
})

function program(path: string, body: string): void {
  writeFileSync(join(root, path), `#!/bin/sh\n${body}\n`)
  chmodSync(join(root, path), 0o755)
}

/** Runs .ci/run in a repository whose npm does as told. */
function ci(npm: string): { readonly status: number | null; readonly last: string | undefined } {
  program('npm', npm)
  const PATH = [root, process.env['PATH']].join(delimiter)
  const { status, stdout } = spawnSync(join(root, '.ci/run'), {
    env: { ...process.env, PATH },
    encoding: 'utf8',
  })
  return { status, last: stdout.trimEnd().split('\n').at(-1) }
}

/** An npm that installs, whose conformance suite is well, and whose tests do as told. */
function npm(tests: string): string {
  return `case $1 in ci) ;; run) echo '5 passed, 0 failed' ;; *) ${tests} ;; esac`
}

test('the counts of its parts are added', () => {
  expect(ci(npm(`echo '40 passed, 0 failed'`))).toEqual({ status: 0, last: '47 passed, 0 failed' })
})

test('a failed test fails it, whatever npm prints after the count', () => {
  expect(ci(npm(`echo '40 passed, 3 failed'; echo 'npm error'; exit 1`))).toEqual({
    status: 1,
    last: '47 passed, 3 failed',
  })
})

test('a part that dies without a count, or with a good one, is a failure', () => {
  expect(ci(npm('exit 137'))).toEqual({ status: 1, last: '7 passed, 1 failed' })
  expect(ci(npm(`echo '40 passed, 0 failed'; exit 1`))).toEqual({
    status: 1,
    last: '47 passed, 1 failed',
  })
})

test('nothing is run when installing fails', () => {
  expect(ci(`exit 1`)).toEqual({ status: 1, last: '0 passed, 1 failed' })
})
