import { expect, test } from 'vitest'
import { brief, visible, visibleLines } from './terminal.ts'

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
