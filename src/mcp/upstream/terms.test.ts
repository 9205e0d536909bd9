import { expect, test } from 'vitest'
import { CANNOT_BE_ASKED } from '../../core/words/question.ts'
import { encodeJson } from '../wire/spans.ts'
import { mayAsk } from './lock.ts'
import { createTerms } from './terms.ts'

const APPS = 'io.modelcontextprotocol/ui'

function termsOf(era: 'modern' | 'legacy') {
  return createTerms({
    facts: { era, revision: era === 'modern' ? '2026-07-28' : '2025-11-25', capabilities: {} },
    may: mayAsk({ sampling: false }),
    clientInfo: encodeJson({ name: 'comity', version: '1' }),
    declared: { roots: {} },
  })
}

test('callers that can be asked the same are told the very same objects', () => {
  const terms = termsOf('modern')
  const forms = { ...CANNOT_BE_ASKED, form: true }
  const apps = { ...forms, extensions: { [APPS]: { mimeTypes: ['a/b'] } } }

  expect(terms({ ...forms }).ours).toBe(terms({ ...forms }).ours)
  expect(terms(structuredClone(apps)).ours).toBe(terms(structuredClone(apps)).ours)
  expect(terms(forms).ours).toEqual({ elicitation: { form: {} } })
  expect(terms(apps).ours).toEqual({
    elicitation: { form: {} },
    extensions: { [APPS]: { mimeTypes: ['a/b'] } },
  })
  expect(terms({ ...apps, extensions: { [APPS]: {} } }).ours).not.toBe(terms(apps).ours)
})

test('what the operator does not let a server ask is not told, whatever the caller can', () => {
  const { ours, can } = termsOf('modern')({ ...CANNOT_BE_ASKED, sampling: true, roots: true })
  expect(ours).toEqual({ roots: {} })
  expect(can).toEqual({ ...CANNOT_BE_ASKED, roots: true })
})

test('a session declared once is told nothing else by any call', () => {
  const terms = termsOf('legacy')
  expect(terms({ ...CANNOT_BE_ASKED, form: true }).ours).toEqual({ roots: {} })
  expect(terms(CANNOT_BE_ASKED).ours).toEqual({ roots: {} })
})
