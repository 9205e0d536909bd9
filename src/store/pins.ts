/**
 * Pins: which definitions were accepted, kept in memory for the gate and on disk with an entry each.
 *
 * At open the table is held against the chain. A capability whose rows are missing, damaged or not in the chain is
 * mistrusted: it is not "first seen" again, it is refused until a person accepts what is there now.
 */
import type { DatabaseSync } from 'node:sqlite'

import type { Clock } from '../core/ports/world.ts'
import type { CapabilityKind } from '../core/words/capability.ts'
import { ComityError } from '../core/words/errors.ts'
import type { PinChange, PinState } from '../core/words/pin.ts'
import { pinKeyOf } from './apply/pins.ts'
import { clip } from './canonical-text.ts'
import type { PinKey } from './commands.ts'
import type { Committer } from './commit.ts'
import { loadPins, type KnownPin } from './load-pins.ts'
import type { Pins, PinSight } from './store.ts'

/** Longest definition kept for a diff, in characters. */
const MAX_DEFINITION = 262_144
/** Longest name of a capability. */
const MAX_NAME = 8192
/** Most capabilities kept for one peer at one endpoint. */
const MAX_PINS = 20_000

interface Memory {
  readonly known: Map<string, KnownPin>
  /** Counts up with every change of `known`. */
  revision: number
  readonly counts: Map<string, number>
  readonly committer: Committer
  readonly clock: Clock
}

/** The pins of one store. */
export function createPins(
  deps: { readonly committer: Committer; readonly reader: DatabaseSync },
  clock: Clock,
): Pins {
  const known = loadPins(deps.reader)
  const counts = new Map<string, number>()
  for (const pin of known.values()) count(counts, pin)
  const memory: Memory = { known, revision: 0, counts, committer: deps.committer, clock }
  // Sights of one capability wait for each other: two first sights must not both be first.
  const turns = new Map<string, Promise<unknown>>()
  const inTurn = async <T>(pin: PinKey, act: () => Promise<T>): Promise<T> => {
    const key = pinKeyOf(pin)
    const before = turns.get(key) ?? Promise.resolve()
    const mine = before.then(act, act)
    turns.set(key, mine)
    try {
      return await mine
    } finally {
      if (turns.get(key) === mine) turns.delete(key)
    }
  }
  return {
    sight: (sight) => inTurn(sight, () => judgeSight(memory, sight)),
    state: (pin, fingerprint) => stateOf(known.get(pinKeyOf(pin)), fingerprint),
    get revision() {
      return memory.revision
    },
    changes: () => listChanges(known),
    accept: async (peer, name, by) => {
      const wanted = listChanges(known).filter(
        (change) => change.peer === peer && (name === undefined || change.name === name),
      )
      for (const change of wanted) await inTurn(change, () => accept(memory, change, by))
      return wanted
    },
    get mistrusted() {
      return [...known.values()]
        .filter((pin) => pin.mistrusted)
        .map(({ key }) => ({ peer: key.peer, kind: key.kind, name: key.name }))
    },
  }
}

/** Changes that wait for a person. */
export function listChanges(known: ReadonlyMap<string, KnownPin>): readonly PinChange[] {
  return [...known.values()].flatMap((pin): PinChange[] => {
    if (pin.change === undefined) return []
    const newest = pin.accepted.at(-1)
    return [
      {
        ...pin.key,
        kind: pin.key.kind as CapabilityKind,
        accepted: newest?.fingerprint ?? '',
        seen: pin.change.fingerprint,
        before: newest?.definition ?? '',
        after: pin.change.definition,
        seenAt: pin.change.seenAt,
      },
    ]
  })
}

function stateOf(pin: KnownPin | undefined, fingerprint: string | undefined): PinState {
  if (pin === undefined) return 'unseen'
  if (pin.mistrusted || pin.change !== undefined) return 'changed'
  if (fingerprint === undefined) return 'accepted'
  return pin.accepted.some((one) => one.fingerprint === fingerprint) ? 'accepted' : 'changed'
}

async function judgeSight(
  memory: Memory,
  sight: PinSight,
): Promise<'first' | 'accepted' | 'changed'> {
  const key: PinKey = {
    peer: sight.peer,
    endpoint: sight.endpoint,
    kind: sight.kind,
    name: sight.name,
  }
  const pin = memory.known.get(pinKeyOf(key))
  const definition = clip(sight.definition, MAX_DEFINITION)
  const { fingerprint } = sight
  if (pin === undefined) return recordFirst(memory, key, { fingerprint, definition })
  if (!pin.mistrusted && pin.accepted.some((one) => one.fingerprint === fingerprint)) {
    if (pin.change !== undefined) {
      remember(memory, pinKeyOf(key), { ...pin, change: undefined })
      memory.committer.enqueue({ do: 'pin_restored', pin: key })
    }
    return 'accepted'
  }
  if (pin.change?.fingerprint !== fingerprint) {
    // In memory at once: it is refused from now on, whether or not the disk takes it.
    const seenAt = new Date(memory.clock.now()).toISOString()
    remember(memory, pinKeyOf(key), { ...pin, change: { fingerprint, definition, seenAt } })
    memory.committer.enqueue({ do: 'pin_change', pin: key, fingerprint, definition })
  }
  return 'changed'
}

async function recordFirst(
  memory: Memory,
  key: PinKey,
  seen: { readonly fingerprint: string; readonly definition: string },
): Promise<'first'> {
  expectRoom(memory, key)
  await memory.committer.submit({
    do: 'pin_accept',
    pin: key,
    ...seen,
    first: true,
    resets: false,
    by: 'first use',
  })
  const pin: KnownPin = { key, accepted: [seen], change: undefined, mistrusted: false }
  remember(memory, pinKeyOf(key), pin)
  count(memory.counts, pin)
  return 'first'
}

async function accept(memory: Memory, change: PinChange, by: string): Promise<void> {
  const key: PinKey = {
    peer: change.peer,
    endpoint: change.endpoint,
    kind: change.kind,
    name: change.name,
  }
  const pin = memory.known.get(pinKeyOf(key))
  // What the person was shown is what is accepted; a newer sight waits for its own word.
  if (pin?.change?.fingerprint !== change.seen) {
    throw new ComityError(
      'conflict',
      `${change.peer}/${clip(change.name, 200)} has changed again meanwhile: look at it once more`,
    )
  }
  const seen = { fingerprint: change.seen, definition: change.after }
  await memory.committer.submit({
    do: 'pin_accept',
    pin: key,
    ...seen,
    first: false,
    resets: pin.mistrusted,
    by,
  })
  remember(memory, pinKeyOf(key), {
    key,
    accepted: pin.mistrusted ? [seen] : [...pin.accepted, seen],
    change: undefined,
    mistrusted: false,
  })
}

function remember(memory: Memory, key: string, pin: KnownPin): void {
  memory.known.set(key, pin)
  memory.revision += 1
}

function expectRoom(memory: Memory, key: PinKey): void {
  const held = memory.counts.get(countKey(key)) ?? 0
  if (held >= MAX_PINS || key.name.length > MAX_NAME) {
    throw new ComityError(
      'not_allowed',
      `${key.peer} offers more than is pinned: at most ${MAX_PINS} capabilities with names of at most ${MAX_NAME} characters`,
    )
  }
}

function count(counts: Map<string, number>, pin: KnownPin): void {
  const key = countKey(pin.key)
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

function countKey(key: PinKey): string {
  return JSON.stringify([key.peer, key.endpoint])
}
