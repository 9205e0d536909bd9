import { expect, test } from 'vitest'
import { sayAddress } from './questions.ts'

test('an address is shown whole, its site marked, and nothing is opened', () => {
  expect(sayAddress('https://login.example/start?from=a\u202eb')).toEqual([
    'it wants you to open this address; nothing opens it for you:',
    String.raw`  | https://login.example/start?from=a\u{202e}b`,
    'the site is: login.example',
  ])
})

test.each([
  ['https://bank.example@evil.example/', 'careful: what stands before the @ is not the site'],
  ['https://xn--pypal-4ve.example/', 'careful: this site is not written in plain letters'],
  ['https://pаypal.example/', 'careful: this site is not written in plain letters'],
  ['http://plain.example/', 'careful: the way there is not encrypted'],
  ['javascript:alert(1)', 'careful: this is no http or https address'],
  ['not an address', 'careful: this is no http or https address'],
])('%s: %s', (address, words) => {
  expect(sayAddress(address).at(-1)).toContain(words)
})
