import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { CapabilityHints, CapabilityKind } from '../../core/words/capability.ts'
import type { JsonText } from '../../core/words/native.ts'
import type { Principal } from '../../core/words/principal.ts'
import type { Route } from '../../core/words/route.ts'
import { createPolicy } from './policy.ts'
import type { PolicyRule, PolicySection } from './section.ts'

const ALICE: Principal = { id: 'alice', groups: ['interns'], via: 'token' }
const BOB: Principal = { id: 'bob', groups: [], via: 'token' }
const NONE = jsonText('{}')

function jsonText(text: string): JsonText {
  return { bytes: new TextEncoder().encode(text), value: () => JSON.parse(text) as unknown }
}

function route(
  peer: string,
  capability: string,
  more: {
    hints?: CapabilityHints
    kind?: CapabilityKind
    trusted?: boolean
    exposed?: string
  } = {},
): Route {
  return {
    exposed: more.exposed ?? `${peer}_${capability}`,
    peer,
    protocol: 'mcp',
    kind: more.kind ?? 'tool',
    capability,
    endpoint: 'e',
    fingerprint: 'f',
    hints: more.hints ?? {},
    trusted: more.trusted ?? true,
  }
}

function section(rules: readonly PolicyRule[], more: Partial<PolicySection> = {}): PolicySection {
  return { preset: 'personal', shadow: false, rules, ...more }
}

function caseFile(id: string): Record<string, never> {
  return JSON.parse(readFileSync(`test/cases/${id}.json`, 'utf8')) as Record<string, never>
}

describe('questions in mid-call', () => {
  const ask = (rules: readonly PolicyRule[], preset: 'personal' | 'team' = 'personal') =>
    createPolicy(section(rules, { preset })).decideQuestion(ALICE, route('a', 'x'), 'sampling')

  test('are a capability of the peer, and milder than a call', () => {
    expect(ask([])).toMatchObject({ effect: 'allow', risk: 'read' })
    expect(ask([{ match: ['a/?sampling'], effect: 'deny' }]).effect).toBe('deny')
    expect(ask([{ match: ['a/?form'], effect: 'deny' }]).effect).toBe('allow')
    expect(ask([{ match: ['*/*'], kind: ['question'], effect: 'deny' }]).effect).toBe('deny')
    expect(ask([{ match: ['*/*'], kind: ['tool'], effect: 'deny' }]).effect).toBe('allow')
  })

  test('team lets through those of a peer that a rule lists', () => {
    expect(ask([], 'team').effect).toBe('deny')
    expect(ask([{ match: ['a/*'], effect: 'allow' }], 'team').effect).toBe('allow')
  })
})

describe('presets', () => {
  const effects = (preset: 'personal' | 'team'): readonly string[] => {
    const { decide } = createPolicy(section([], { preset }))
    const hints: readonly CapabilityHints[] = [{ readOnly: true }, {}, { destructive: true }]
    return hints.map((hint) => decide(ALICE, route('a', 'x', { hints: hint }), NONE).effect)
  }

  test('personal allows read and write, and asks before what is destructive', () => {
    expect(effects('personal')).toEqual(['allow', 'allow', 'ask'])
  })

  test('team denies and hides what no rule lists', () => {
    expect(effects('team')).toEqual(['deny', 'deny', 'deny'])
    const policy = createPolicy(
      section([{ match: ['docs/*'], effect: 'allow' }], { preset: 'team' }),
    )
    expect(policy.visible(ALICE, route('docs', 'x'))).toBe(true)
    expect(policy.visible(ALICE, route('mail', 'x'))).toBe(false)
    expect(policy.decide(ALICE, route('docs', 'x'), NONE)).toMatchObject({
      effect: 'allow',
      rule: 'rules[0] docs/*',
    })
    expect(policy.decide(ALICE, route('mail', 'x'), NONE).rule).toBe('preset team')
  })

  test('trust: none is believed only where it is graver', () => {
    const { decide } = createPolicy(section([]))
    const risk = (hints: CapabilityHints): string =>
      decide(ALICE, route('a', 'x', { hints, trusted: false }), NONE).risk
    expect(risk({ readOnly: true })).toBe('write')
    expect(risk({ destructive: true })).toBe('destructive')
  })
})

describe('matching', () => {
  const denied = (rule: Partial<PolicyRule>, at: Route, principal = ALICE): boolean =>
    createPolicy(section([{ match: ['*/*'], effect: 'deny', ...rule }])).decide(principal, at, NONE)
      .effect === 'deny'

  test.each([
    ['a/*', 'a', 'x/y', true],
    ['a/x*', 'a', 'x', true],
    ['a/*/z', 'a', 'x/y/z', true],
    ['a/x', 'a', 'xx', false],
    ['a/a*a', 'a', 'a', false],
    ['*/delete_*', 'b.c', 'delete_it', true],
    ['a*/x', 'a', 'x', true],
    ['A/x', 'a', 'x', false],
    ['a/X', 'a', 'x', false],
    ['a/file:///*', 'a', 'file:///etc/passwd', true],
    ['a/**b', 'a', 'xb', true],
    ['a/x.y', 'a', 'xzy', false],
  ])('%s against %s and %s is %s', (glob, peer, capability, expected) => {
    expect(denied({ match: [glob] }, route(peer, capability))).toBe(expected)
  })

  test('the peer part ends at the first slash: it cannot reach into the capability', () => {
    expect(denied({ match: ['a*/z'] }, route('a', 'b/z'))).toBe(false)
  })

  test('except takes out again; kind, principal and groups restrict', () => {
    expect(denied({ except: ['a/x'] }, route('a', 'x'))).toBe(false)
    expect(denied({ except: ['a/x'] }, route('a', 'y'))).toBe(true)
    expect(denied({ kind: ['prompt'] }, route('a', 'x'))).toBe(false)
    expect(denied({ kind: ['prompt'] }, route('a', 'x', { kind: 'prompt' }))).toBe(true)
    expect(denied({ principal: ['bob'] }, route('a', 'x'))).toBe(false)
    expect(denied({ principal: ['bob'] }, route('a', 'x'), BOB)).toBe(true)
    expect(denied({ groups: ['interns'] }, route('a', 'x'))).toBe(true)
    expect(denied({ groups: ['interns'] }, route('a', 'x'), BOB)).toBe(false)
  })

  test('an empty list matches nothing, in every place', () => {
    for (const key of ['match', 'kind', 'principal', 'groups'] as const) {
      expect(denied({ [key]: [] }, route('a', 'x')), key).toBe(false)
    }
  })

  test('many stars over a long name are answered at once', () => {
    const started = performance.now()
    expect(denied({ match: [`a/${'*a'.repeat(200)}b`] }, route('a', 'a'.repeat(4000)))).toBe(false)
    expect(performance.now() - started).toBeLessThan(1000)
  })
})

describe('risk overrides', () => {
  test('the last matching rule with a risk wins, and decides the preset', () => {
    const { decide } = createPolicy(
      section([
        { match: ['a/*'], risk: 'destructive' },
        { match: ['a/list_*'], risk: 'read' },
      ]),
    )
    const decided = (name: string): readonly string[] => {
      const { risk, effect } = decide(ALICE, route('a', name), NONE)
      return [risk, effect]
    }
    expect(decided('list_x')).toEqual(['read', 'allow'])
    expect(decided('x')).toEqual(['destructive', 'ask'])
  })

  test('a condition sees the risk as overridden; one that throws makes it graver, never milder', () => {
    const { decide } = createPolicy(
      section([
        { match: ['a/*'], risk: 'destructive', when: 'arguments.n > 10' },
        { match: ['b/*'], risk: 'read', when: 'arguments.n > 10' },
        { match: ['*/*'], effect: 'deny', when: "risk == 'destructive'" },
      ]),
    )
    expect(decide(ALICE, route('a', 'x'), jsonText('{"n":11}')).effect).toBe('deny')
    expect(decide(ALICE, route('a', 'x'), jsonText('{"n":1}')).effect).toBe('allow')
    expect(decide(ALICE, route('a', 'x'), NONE).effect).toBe('deny')
    expect(decide(ALICE, route('b', 'x'), NONE).risk).toBe('write')
  })
})

describe('conditions', () => {
  test('the condition of the handbook: interns only read', () => {
    const { decide } = createPolicy(
      section([
        {
          match: ['*/*'],
          effect: 'deny',
          when: "has(principal.groups) && 'interns' in principal.groups && risk != 'read'",
        },
      ]),
    )
    const read = route('a', 'x', { hints: { readOnly: true } })
    expect(decide(ALICE, route('a', 'x'), NONE).effect).toBe('deny')
    expect(decide(ALICE, read, NONE).effect).toBe('allow')
    expect(decide(BOB, route('a', 'x'), NONE).effect).toBe('allow')
  })

  test('a rule that throws: deny denies, ask asks, allow does not match', () => {
    const decided = (effect: 'allow' | 'ask' | 'deny'): readonly string[] => {
      const rules = [{ match: ['*/*'], effect, when: 'arguments.nope == 1' }]
      const { effect: got, rule } = createPolicy(section(rules, { preset: 'team' })).decide(
        ALICE,
        route('a', 'x'),
        NONE,
      )
      return [got, rule]
    }
    const failed = 'rules[0] */* (its condition could not be evaluated)'
    expect(decided('deny')).toEqual(['deny', failed])
    expect(decided('ask')).toEqual(['ask', failed])
    expect(decided('allow')).toEqual(['deny', 'preset team'])
  })

  test('arguments that are no object fail closed', () => {
    const rules: PolicyRule[] = [{ match: ['*/*'], effect: 'deny', when: 'arguments.n == 1' }]
    const { decide } = createPolicy(section(rules))
    expect(decide(ALICE, route('a', 'x'), jsonText('[1]')).effect).toBe('deny')
    expect(decide(ALICE, route('a', 'x'), jsonText('not json')).effect).toBe('deny')
  })
})

describe('visibility', () => {
  test('a denial that depends on the principal hides; one that depends on the arguments does not', () => {
    const policy = createPolicy(
      section([
        { match: ['a/*'], effect: 'deny', when: "'interns' in principal.groups" },
        { match: ['b/*'], effect: 'deny', when: 'arguments.n > 1' },
      ]),
    )
    expect(policy.visible(ALICE, route('a', 'x'))).toBe(false)
    expect(policy.visible(BOB, route('a', 'x'))).toBe(true)
    expect(policy.visible(ALICE, route('b', 'x'))).toBe(true)
  })

  test('in a team, an allowance that may hold for some arguments shows', () => {
    const policy = createPolicy(
      section([{ match: ['a/*'], effect: 'allow', when: 'arguments.n > 1' }], { preset: 'team' }),
    )
    expect(policy.visible(ALICE, route('a', 'x'))).toBe(true)
  })
})

test('shadow mode allows and names what would have been decided', () => {
  const policy = createPolicy(section([{ match: ['a/*'], effect: 'deny' }], { shadow: true }))
  const hints = { destructive: true }
  expect(policy.visible(ALICE, route('a', 'x'))).toBe(true)
  expect(policy.decide(ALICE, route('a', 'x'), NONE)).toMatchObject({
    effect: 'allow',
    rule: 'shadow: would deny by rules[0] a/*',
  })
  expect(policy.decide(ALICE, route('b', 'x', { hints }), NONE)).toMatchObject({
    effect: 'allow',
    rule: 'shadow: would ask by preset personal',
  })
})

test('the time an approval may be waited for comes from the rule that asks, else 15 minutes', () => {
  const { decide } = createPolicy(
    section([
      { match: ['a/*'], effect: 'ask', ttlMs: 1000 },
      { match: ['b/*'], effect: 'ask' },
    ]),
  )
  expect(decide(ALICE, route('a', 'x'), NONE).approvalTtlMs).toBe(1000)
  expect(decide(ALICE, route('b', 'x'), NONE).approvalTtlMs).toBe(900_000)
})

test('the version changes with any part of the section and with nothing else', () => {
  const versionOf = (given: PolicySection): string =>
    createPolicy(given).decide(ALICE, route('a', 'x'), NONE).version
  const rule: PolicyRule = { match: ['a/*'], effect: 'ask', ttlMs: 1000 }
  const base = versionOf(section([rule]))
  expect(versionOf(section([{ ttlMs: 1000, effect: 'ask', match: ['a/*'] }]))).toBe(base)
  const others = [
    section([{ ...rule, ttlMs: 2000 }]),
    section([{ ...rule, except: ['a/y'] }]),
    section([rule], { preset: 'team' }),
    section([rule], { shadow: true }),
    section([rule, rule]),
  ]
  const versions = new Set([base, ...others.map(versionOf)])
  expect(versions.size).toBe(others.length + 1)
})

describe('for all policies', () => {
  const name = fc.constantFrom(
    'foo.bar',
    'foo_bar',
    'foo',
    'FOO',
    'bar__read',
    'read',
    'evil',
    'a/b',
  )
  const glob = fc
    .tuple(fc.oneof(name, fc.constant('*'), fc.constant('fo*')), fc.oneof(name, fc.constant('*')))
    .map(([peer, capability]) => `${peer.replaceAll('/', '')}/${capability}`)
  const when = fc.constantFrom(
    "'interns' in principal.groups",
    "principal.id == 'bob'",
    "risk == 'read'",
    "risk != 'destructive' && arguments.n > 3",
    'arguments.n == 1',
    "peer == 'foo' || kind == 'prompt'",
    'arguments.nope == 1',
    'principal.groups[0] == "x"',
  )
  const optional = { requiredKeys: ['match'] } as { requiredKeys: ['match'] }
  const rule: fc.Arbitrary<PolicyRule> = fc.record(
    {
      match: fc.array(glob, { maxLength: 3 }),
      except: fc.array(glob, { maxLength: 2 }),
      kind: fc.constantFrom<CapabilityKind[]>(['tool'], ['prompt', 'tool'], []),
      principal: fc.constantFrom(['alice'], ['bob']),
      groups: fc.constantFrom(['interns'], ['x']),
      risk: fc.constantFrom('read' as const, 'write' as const, 'destructive' as const),
      effect: fc.constantFrom('allow' as const, 'ask' as const, 'deny' as const),
      when,
    },
    optional,
  )
  const policies = fc.record({
    preset: fc.constantFrom('personal' as const, 'team' as const),
    shadow: fc.boolean(),
    rules: fc.array(rule, { maxLength: 6 }),
  })
  const routes = fc
    .record({
      peer: fc.constantFrom('foo.bar', 'foo_bar', 'foo'),
      capability: name,
      kind: fc.constantFrom<CapabilityKind>('tool', 'prompt'),
      hints: fc.record({ readOnly: fc.boolean(), destructive: fc.boolean() }, { requiredKeys: [] }),
    })
    .map(({ peer, capability, kind, hints }) => route(peer, capability, { kind, hints }))
  const principals = fc.constantFrom(ALICE, BOB)
  const args = fc.constantFrom('{}', '{"n":1}', '{"n":5}', '[]').map(jsonText)

  test('deny wins over ask over allow whatever the order of the rules', () => {
    const given = fc.tuple(policies, fc.infiniteStream(fc.nat()), routes, principals, args)
    fc.assert(
      fc.property(given, ([policy, keys, at, principal, json]) => {
        // Risk is the one thing that depends on order: the last override wins.
        const rules = policy.rules.filter(({ risk }) => risk === undefined)
        const shuffled = rules
          .map((item) => ({ item, key: keys.next().value ?? 0 }))
          .toSorted((left, right) => left.key - right.key)
          .map(({ item }) => item)
        const effectOf = (list: readonly PolicyRule[]): string =>
          createPolicy({ ...policy, rules: list }).decide(principal, at, json).effect
        expect(effectOf(shuffled)).toBe(effectOf(rules))
      }),
    )
  })

  test('an unconditional matching deny denies, whatever else stands there', () => {
    fc.assert(
      fc.property(policies, routes, principals, args, (policy, at, principal, json) => {
        const deny: PolicyRule = { match: [`${at.peer}/*`], effect: 'deny' }
        const check = createPolicy({ ...policy, shadow: false, rules: [...policy.rules, deny] })
        expect(check.decide(principal, at, json).effect).toBe('deny')
        expect(check.visible(principal, at)).toBe(false)
      }),
    )
  })

  test('what is hidden in lists is denied in the call, whatever the arguments', () => {
    fc.assert(
      fc.property(policies, routes, principals, args, (policy, at, principal, json) => {
        const check = createPolicy(policy)
        if (!check.visible(principal, at)) {
          expect(check.decide(principal, at, json).effect).toBe('deny')
        }
      }),
      { numRuns: 500 },
    )
  })

  test('the exposed name moves nothing', () => {
    fc.assert(
      fc.property(policies, routes, fc.string(), principals, (policy, at, exposed, principal) => {
        const check = createPolicy(policy)
        const renamed = { ...at, exposed }
        expect(check.decide(principal, renamed, NONE)).toEqual(check.decide(principal, at, NONE))
        expect(check.visible(principal, renamed)).toBe(check.visible(principal, at))
      }),
    )
  })
})

test('C93: rules hold for the registered server and the original name; no look-alike passes', () => {
  const { given } = caseFile('C93-policy-alias-crosses-servers') as unknown as {
    given: { servers: Record<string, string[]> }
  }
  const policy = createPolicy(
    section(
      [
        { match: ['foo.bar/*'], effect: 'allow' },
        { match: ['foo_bar/evil'], effect: 'deny' },
        { match: ['foo/bar*'], effect: 'allow' },
        { match: [], effect: 'allow' },
      ],
      { preset: 'team' },
    ),
  )
  const tools = Object.entries(given.servers).flatMap(([server, names]) =>
    names.flatMap((tool) => [
      [server, tool],
      [server, tool.toUpperCase()],
      [server.toUpperCase(), tool],
    ]),
  ) as [string, string][]
  const allowed = tools.filter(([server, tool]) => {
    // One cleaned alias for all: it must not matter. Nor does anything the server says of itself reach a route.
    const at = route(server, tool, { exposed: 'foo_bar__read' })
    const { effect } = policy.decide(ALICE, at, NONE)
    expect(policy.visible(ALICE, at), `${server}/${tool}`).toBe(effect !== 'deny')
    return effect === 'allow'
  })
  expect(allowed).toEqual([
    ['foo.bar', 'read'],
    ['foo.bar', 'READ'],
    ['foo.bar', 'evil'],
    ['foo.bar', 'EVIL'],
    ['foo', 'bar__read'],
  ])
  expect(policy.decide(ALICE, route('foo_bar', 'evil'), NONE)).toMatchObject({
    effect: 'deny',
    rule: 'rules[1] foo_bar/evil',
  })
})

test('C01: a rule for each odd name decides that name alone, byte for byte', () => {
  const { given } = caseFile('C01-names-dots-slashes-unicode') as unknown as {
    given: { tools: { name: string }[] }
  }
  const names = given.tools.map(({ name }) => name)
  for (const name of names) {
    const policy = createPolicy(section([{ match: [`office/${name}`], effect: 'deny' }]))
    const denied = names.filter(
      (other) =>
        policy.decide(ALICE, route('office', other, { exposed: 'office_same_alias' }), NONE)
          .effect === 'deny',
    )
    expect(denied).toEqual([name])
  }
})
