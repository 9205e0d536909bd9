import { describe, expect, it } from 'vitest'
import { canonicalCard, readCard } from './card.ts'

const home = 'https://agent.example/.well-known/agent-card.json'
const jsonRpc = {
  url: 'https://agent.example/a2a',
  protocolBinding: 'JSONRPC',
  protocolVersion: '1.0',
}
const card = {
  name: 'Desk',
  description: 'Answers',
  version: '4.2.0',
  supportedInterfaces: [jsonRpc],
  capabilities: {},
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'find', name: 'Find', description: 'Finds', tags: ['search'] }],
}
const read = (value: unknown, allowedOrigins: string[] = []) =>
  readCard(value, { cardUrl: home, allowedOrigins })
const paths = (value: unknown) =>
  read(value)
    .findings.filter((found) => found.severity === 'error')
    .map((found) => found.path)

describe('required members', () => {
  it('a whole card is usable without findings', () => {
    const reading = read(card)
    expect(reading.interface).toEqual(jsonRpc)
    expect(reading.findings).toEqual([])
  })

  it.each(['name', 'description', 'version', 'capabilities', 'supportedInterfaces', 'skills'])(
    'a card without %s is not used and says so',
    (member) => {
      const without = Object.fromEntries(Object.entries(card).filter(([key]) => key !== member))
      expect(paths(without)).toEqual([member])
      expect(read(without).interface).toBeUndefined()
    },
  )

  it('a card that is no object, or of 0.3, is named as such', () => {
    expect(read('hello').findings[0]?.message).toContain('expected an object')
    const legacy = { name: 'x', url: 'https://agent.example/', preferredTransport: 'JSONRPC' }
    expect(read(legacy).findings[0]?.message).toContain('0.3 card')
  })

  it('an extension that must be spoken makes the card unusable', () => {
    const extensions = [{ uri: 'https://x.example/ext', required: true }]
    expect(paths({ ...card, capabilities: { extensions } })).toEqual(['capabilities.extensions'])
  })
})

describe('which interface', () => {
  it('the first that both sides speak is taken, with its tenant', () => {
    const reading = read({
      ...card,
      supportedInterfaces: [
        { ...jsonRpc, protocolBinding: 'GRPC' },
        { ...jsonRpc, protocolBinding: 'jsonrpc' },
        { ...jsonRpc, protocolVersion: '0.3' },
        { ...jsonRpc, protocolVersion: '2.0' },
        { ...jsonRpc, protocolVersion: '1.0.1', tenant: 'first' },
        { ...jsonRpc, tenant: 'second' },
      ],
    })
    expect(reading.interface).toEqual({ ...jsonRpc, tenant: 'first' })
    expect(reading.findings).toHaveLength(4)
  })

  it.each([
    'https://evil.example/a2a',
    'http://agent.example/a2a',
    'https://agent.example:8443/a2a',
    'file:///etc/passwd',
    'https://user:pw@agent.example/a2a',
    'agent.example',
  ])('an interface at %s is not used', (url) => {
    const reading = read({ ...card, supportedInterfaces: [{ ...jsonRpc, url }] })
    expect(reading.interface).toBeUndefined()
    expect(JSON.stringify(reading.findings)).toContain('passed over')
  })

  it('another origin is used only when the operator named it', () => {
    const offered = { ...card, supportedInterfaces: [{ ...jsonRpc, url: 'https://b.example/a' }] }
    expect(read(offered).interface).toBeUndefined()
    expect(read(offered, ['https://b.example']).interface?.url).toBe('https://b.example/a')
  })
})

describe('canonical bytes', () => {
  const text = (value: unknown) => new TextDecoder().decode(canonicalCard(value))

  it('key order, explicit empties and signatures are no change', () => {
    const same = {
      signatures: [{ protected: 'a', signature: 'b' }],
      ...Object.fromEntries(Object.entries(card).toReversed()),
      securityRequirements: [],
      supportedInterfaces: [{ tenant: '', ...jsonRpc }],
    }
    expect(text(same)).toBe(text(card))
  })

  it('required empties and set optionals are part of it', () => {
    expect(text({ ...card, skills: [] })).toContain('"skills":[]')
    expect(text({ ...card, capabilities: { streaming: false } })).not.toBe(text(card))
    expect(text({ ...card, documentationUrl: '' })).not.toBe(text(card))
  })

  it('a member nobody here knows is part of it', () => {
    expect(text({ ...card, evil: true })).not.toBe(text(card))
  })

  it('keys are sorted by UTF-16 units', () => {
    expect(text({ b: 1, '\u{1f600}': 2, '\ufb33': 3, a: { d: 1, c: 2 } })).toBe(
      '{"a":{"c":2,"d":1},"b":1,"\u{1f600}":2,"\ufb33":3}',
    )
  })
})
