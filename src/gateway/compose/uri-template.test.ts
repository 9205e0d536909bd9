import { expect, test } from 'vitest'
import { compileTemplate } from './uri-template.ts'

const fits = (template: string, uri: string): boolean | undefined =>
  compileTemplate(template)?.(uri)

test('a simple expression stays within its segment, a reserved one does not', () => {
  expect(fits('demo://{id}/text', 'demo://7/text')).toBe(true)
  expect(fits('demo://{id}/text', 'demo://7/8/text')).toBe(false)
  expect(fits('docs://{+document}', 'docs://a/b.md')).toBe(true)
  expect(fits('docs://{+document}', 'docs://')).toBe(false)
})

test('optional forms may be absent, literals are literal', () => {
  expect(fits('a://x{?page}', 'a://x')).toBe(true)
  expect(fits('a://x{?page}', 'a://x?page=2')).toBe(true)
  expect(fits('a://x.y', 'a://xzy')).toBe(false)
})

test('a template built to stall is answered in linear time or not taken at all', () => {
  const hostile = '{a}{b}{c}{d}{e}{f}{g}{h}'.repeat(4)
  const before = performance.now()
  expect(fits(`x://${hostile}!`, `x://${'a'.repeat(50_000)}`)).toBe(false)
  expect(performance.now() - before).toBeLessThan(2_000)
  expect(compileTemplate('{a}'.repeat(33))).toBeUndefined()
  expect(compileTemplate('x'.repeat(2_049))).toBeUndefined()
})
