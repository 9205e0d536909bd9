import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { brief, createTerminal, visible, visibleLines } from './terminal.ts'

const HOSTILE = 'wipe\n  risk:      read\r\u001b[2J\u009b31m\u202e\u200b\ttail'

test('a peer’s text inside a line of ours can neither break it nor hide in it', () => {
  const shown = visible(HOSTILE)
  expect(shown).not.toMatch(/[\p{Cc}\p{Cf}]/u)
  expect(shown).toContain('wipe\\u{000a}  risk:')
})

test('a peer’s block keeps its lines, each behind a mark, and no control character', () => {
  const shown = visibleLines('one\nap_fake approved\u001b[2J', '  | ')
  expect(shown).toBe('  | one\n  | ap_fake approved\\u{1b}[2J')
})

test('brief is one line, cut', () => {
  expect(brief(' a\n\n b ')).toBe('a b')
  expect(brief('x'.repeat(200), 10)).toBe(`${'x'.repeat(9)}…`)
})

function capture(json: boolean) {
  const output = new PassThrough()
  const error = new PassThrough()
  const terminal = createTerminal({ json, interactive: false, output, error })
  return { terminal, output, error, said: () => `${output.read() ?? ''}${error.read() ?? ''}` }
}

test('whoever forgets to spell a text out prints no control character all the same', () => {
  const { terminal, said } = capture(false)
  terminal.line(`a tool: ${HOSTILE}`)
  terminal.note(`comity: no tool ${HOSTILE}`)
  terminal.table(['name'], [['\u001b[2J']])
  const printed = said()
  expect(printed).not.toMatch(/(?!\n|\t)[\p{Cc}\p{Cf}]/u)
  expect(printed).toContain('no tool wipe\n  risk:')
})

test('JSON for machines has no control or hidden character, and means what it did', () => {
  const { terminal, said } = capture(true)
  const value = { text: `${HOSTILE}\u{e0041}\u2028`, '\u202e': 1 }
  terminal.answer(value)
  const printed = said()
  expect(printed).not.toMatch(/(?!\n|\t)[\p{Cc}\p{Cf}\p{Zl}]/u)
  expect(JSON.parse(printed)).toEqual(value)
})
