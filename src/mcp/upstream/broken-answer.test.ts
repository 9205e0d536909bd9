import { expect, test } from 'vitest'
import { inlineServer, makeCall, openPeer } from '../../../test/mcp/upstream-peer.ts'
import { brokenAnswerId } from './broken-answer.ts'

const idOf = (text: string): number | undefined => brokenAnswerId(Buffer.from(text, 'latin1'))
const FILL = 'x'.repeat(1000)

test.each([
  [`{"jsonrpc":"2.0","id":7,"result":{"a":"\xff"}}`, 7],
  [`{ "id" : "7", "jsonrpc" : "2.0", "error" : {"message":"\xe2\x82"} }`, 7],
  [`{"jsonrpc":"2.0","result":{"a":"\xff${FILL}"},"id":7}`, 7],
  [`{"result":{"a":"${FILL}\xff"},"id":7,"jsonrpc":"2.0"}`, 7],
])('an answer that cannot be read is told by its id: %s', (text, id) => {
  expect(idOf(text)).toBe(id)
})

test.each([
  ['text', `text {"jsonrpc":"2.0","id":7,"result":{}}`],
  ['no version', `{"id":7,"result":{"a":"\xff"}}`],
  ['a request', `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"\xff"}}`],
  [
    'a notification that quotes an answer',
    `{"jsonrpc":"2.0","method":"x","params":{"a":"\xff","result":1},"id":7}`,
  ],
  ['an id of a text within', `{"jsonrpc":"2.0","result":{"a":{"id":7,"result":"\xff"}}}`],
  [
    'a number that is none of ours',
    `{"jsonrpc":"2.0","id":12345678901234567890,"result":{"a":"\xff"}}`,
  ],
])('%s is noise', (_, text) => {
  expect(idOf(text)).toBeUndefined()
})

test('invalid UTF-8 is noise where it answers nothing, and ends the call where it answers one', async () => {
  const peer = openPeer(
    inlineServer(`
      serve({ 'tools/call': (m) => {
        process.stdout.write(Buffer.from([0xff, 0xfe, 0x7b, 0x0a]))
        process.stdout.write(Buffer.concat([Buffer.from('{"jsonrpc":"2.0","method":"notifications/x","params":{"a":"'), Buffer.from([0xc3]), Buffer.from('"}}\\n')]))
        if (m.params.arguments.sound) return answer(m, { content: [] })
        process.stdout.write(Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":' + m.id + ',"result":{"content":[],"a":"'), Buffer.from([0xe2, 0x82]), Buffer.from('"}}\\n')]))
      } })
    `),
  )
  const broken = await makeCall(peer, 'pay')
  expect(broken.outcome).toMatchObject({ state: 'unknown', because: 'peer_unclear' })
  expect((await makeCall(peer, 'pay', { sound: true })).outcome.state).toBe('completed')
  expect(peer.counts()?.noise).toBe(4)
})
