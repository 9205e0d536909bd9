import { expect, test } from 'vitest'
import { judgeRecords, sayRefusal } from './acceptance.ts'
import type { ArtifactRecord } from './artifact.ts'

const record = (over: Partial<ArtifactRecord>): ArtifactRecord => ({
  artifactId: 'a',
  name: 'report.md',
  mediaType: 'text/markdown',
  parts: 1,
  bytes: 10,
  complete: true,
  headless: false,
  ...over,
})

test('every refusal is reported, not the first', () => {
  const refusals = judgeRecords([record({ bytes: 0, headless: true, mediaType: 'image/png' })], {
    mediaTypes: ['text/*'],
    required: ['differences.json'],
  })
  expect(refusals.map((refusal) => refusal.reason)).toEqual([
    'missing',
    'empty',
    'headless',
    'media_type',
  ])
  expect(refusals.map(sayRefusal)[0]).toBe('differences.json: required, not delivered')
})

test('the slash stays: text/* does not admit texture/png; parameters and case do not count', () => {
  expect(
    judgeRecords([record({ mediaType: 'texture/png' })], { mediaTypes: ['text/*'] }),
  ).toHaveLength(1)
  expect(
    judgeRecords([record({ mediaType: 'Text/Markdown; charset=utf-8' })], {
      mediaTypes: ['text/markdown'],
    }),
  ).toEqual([])
})

test('a delivery that keeps every condition has no refusals; size counts per artifact', () => {
  expect(judgeRecords([record({})], { required: ['report.md'], maxBytes: 10 })).toEqual([])
  expect(judgeRecords([record({ bytes: 11 })], { maxBytes: 10 })).toEqual([
    { reason: 'too_large', name: 'report.md', bytes: 11, limit: 10 },
  ])
})
