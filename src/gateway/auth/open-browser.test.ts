import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

import { afterEach, beforeEach, describe, expect, test } from 'vitest'

import { mayOpen, openBrowser, openerOf } from './open-browser.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'comity-browser-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** An opener that writes down what it was given. */
function opener(ends: number): Readonly<Record<string, string>> {
  const file = join(folder, openerOf(process.platform, '').command)
  const given = join(folder, 'given')
  writeFileSync(file, `#!/bin/sh\nprintf '%s\\n' "$#" "$@" > '${given}'\nexit ${ends}\n`)
  chmodSync(file, 0o755)
  return { PATH: `${folder}${delimiter}/usr/bin${delimiter}/bin` }
}

describe('opening a browser', () => {
  test.each([
    ['https://login.example/authorize?a=b&c=d', true],
    ['http://127.0.0.1:9000/authorize', true],
    ['http://localhost:9000/authorize', true],
    ['http://login.example/authorize', false],
    ['file:///etc/passwd', false],
    ['javascript:alert(1)', false],
    ['--help', false],
    ['', false],
  ])('%s: %s', (url, may) => {
    expect(mayOpen(url)).toBe(may)
  })

  test('no shell reads the address: it arrives as one argument', async () => {
    const environment = opener(0)
    const url = 'https://login.example/a?x=1&y=$(touch%20pwned);`id`|"q"'
    expect(await openBrowser(url, environment)).toBe(true)
    const [count, got] = readFileSync(join(folder, 'given'), 'utf8').split('\n')
    expect([count, got]).toEqual(['1', new URL(url).href])
  })

  test('what may not be opened is not given to anybody', async () => {
    const environment = opener(0)
    expect(await openBrowser('file:///etc/passwd', environment)).toBe(false)
    expect(existsSync(join(folder, 'given'))).toBe(false)
  })

  test('an opener that fails, and one that is not there, are told', async () => {
    expect(await openBrowser('https://login.example/', opener(3))).toBe(false)
    expect(await openBrowser('https://login.example/', { PATH: join(folder, 'none') })).toBe(false)
  })

  test('Windows and macOS have their own openers, without a shell', () => {
    expect(openerOf('win32', 'https://a/?b&c')).toEqual({
      command: 'rundll32',
      args: ['url.dll,FileProtocolHandler', 'https://a/?b&c'],
    })
    expect(openerOf('darwin', 'https://a/')).toEqual({ command: 'open', args: ['https://a/'] })
  })
})
