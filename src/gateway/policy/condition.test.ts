import { describe, expect, test } from 'vitest'
import type { JsonText } from '../../core/words/native.ts'
import { celArguments, parseCondition } from './condition.ts'
import type { ConditionFacts } from './condition.ts'

function jsonText(text: string): JsonText {
  return { bytes: new TextEncoder().encode(text), value: () => JSON.parse(text) as unknown }
}

function facts(args = '{}'): ConditionFacts {
  return {
    principal: { id: 'alice', groups: ['writers'], via: 'token' },
    peer: 'docs',
    capability: 'search',
    kind: 'tool',
    risk: 'write',
    arguments: celArguments(jsonText(args)),
  }
}

function holds(source: string, args?: string): boolean {
  return parseCondition(source).holds(facts(args))
}

describe('numbers', () => {
  test.each([
    ['arguments.n == 5', '{"n":5}', true],
    ['arguments.n == 5', '{"n":5.0}', true],
    ['arguments.n > 0.5', '{"n":1}', true],
    ['arguments.n < 100', '{"n":99.5}', true],
    ['type(arguments.n) == int', '{"n":7}', true],
    ['type(arguments.n) == double', '{"n":7.5}', true],
    ['arguments.n == 9007199254740993', '{"n":9007199254740993}', true],
    ['arguments.n == 9007199254740993', '{"n":9007199254740992}', false],
    ['arguments.n == 9223372036854775807', '{"n":9223372036854775807}', true],
    ['arguments.n > 9223372036854775807', '{"n":92233720368547758080}', true],
    ['arguments.n < 0', '{"n":-92233720368547758090}', true],
    ['arguments.a[0].b == 2', '{"a":[{"b":2}]}', true],
  ])('%s over %s is %s', (source, args, expected) => {
    expect(holds(source, args)).toBe(expected)
  })
})

describe('matches is RE2', () => {
  test('it finds, and a pattern that would backtrack for ever answers at once', () => {
    expect(holds("arguments.s.matches('^a+$')", '{"s":"aaa"}')).toBe(true)
    expect(holds("arguments.s.matches('b')", '{"s":"abc"}')).toBe(true)
    const started = performance.now()
    expect(holds("arguments.s.matches('^(a+)+$')", `{"s":"${'a'.repeat(40)}!"}`)).toBe(false)
    expect(performance.now() - started).toBeLessThan(2000)
  })

  test('the word is left alone where it is no call', () => {
    expect(holds("arguments.matches == 'x.matches(y)'", '{"matches":"x.matches(y)"}')).toBe(true)
    expect(holds("'a'.matches('a') // .matches(", '{}')).toBe(true)
    expect(holds(`'a\\'.matches(b)' != "" && "x" . matches ( '^x' )`)).toBe(true)
    expect(holds(`r"\\".matches(" != "" && '5'.matches(r'\\d')`)).toBe(true)
    expect(holds(`'''it's .matches(''' != '' && ['b'].exists(x, x.matches('b'))`)).toBe(true)
  })

  test('a look-ahead is a mistake at load when written out, and throws when it comes from arguments', () => {
    expect(() => parseCondition("peer.matches('(?=a)')")).toThrow(/RE2 pattern/)
    expect(() => holds('peer.matches(arguments.p)', '{"p":"(?=a)"}')).toThrow()
  })
})

describe('what a condition may name', () => {
  test('declared variables with their fields, and nothing else', () => {
    expect(holds("'writers' in principal.groups && principal.via == 'token'")).toBe(true)
    expect(holds("peer == 'docs' && capability == 'search' && kind == 'tool'")).toBe(true)
    expect(holds("has(principal.groups) && risk != 'read'")).toBe(true)
    expect(() => parseCondition('user == 1')).toThrow('Unknown variable: user')
    expect(() => parseCondition('principal.name == "x"')).toThrow(/name/)
    expect(() => parseCondition('1 +')).toThrow()
    expect(() => parseCondition('"x"')).toThrow(/this one is string/)
    expect(() => parseCondition('x'.repeat(5000))).toThrow(/at most 4000/)
  })

  test('what the arguments do not have is an error, not false; has() asks', () => {
    expect(() => holds('arguments.nope == 1')).toThrow()
    expect(holds('has(arguments.nope)')).toBe(false)
    expect(() => holds('arguments.n', '{"n":1}')).toThrow()
    expect(() => holds('arguments.n == 1', '[1]')).toThrow()
  })

  test('inherited properties of objects are not arguments', () => {
    expect(holds('has(arguments.constructor)')).toBe(false)
    expect(holds("'toString' in arguments")).toBe(false)
    expect(() => holds('arguments.__proto__ == {}')).toThrow()
  })

  test('whether arguments and risk are looked at is known without evaluating', () => {
    const uses = (source: string): readonly boolean[] => {
      const { usesArguments, usesRisk } = parseCondition(source)
      return [usesArguments, usesRisk]
    }
    expect(uses("'a' in principal.groups")).toEqual([false, false])
    expect(uses("peer == 'arguments'")).toEqual([false, false])
    expect(uses('has(arguments.x) || risk == "read"')).toEqual([true, true])
  })
})
