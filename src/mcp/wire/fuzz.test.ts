import { expect, test } from 'vitest'
import { fuzz } from '../../../test/json/fuzz.ts'

test('damaged bytes never hang the scanner, never raise a foreign error, never pass wrongly', () => {
  expect(() => fuzz(4000)).not.toThrow()
})
