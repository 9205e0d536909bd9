/** How routes stand to their pins, remembered until any pin changes: every call asks twice, of the same few routes. */
import type { PinState } from '../../core/words/pin.ts'
import type { Route } from '../../core/words/route.ts'
import type { Pins } from '../../store/store.ts'

/** How a route stands now, without recording. Routes are told apart by identity, and never change. */
export function createPinStates(
  pins: Pick<Pins, 'revision' | 'state'>,
): (route: Route) => PinState {
  let known = new WeakMap<Route, PinState>()
  let revision = pins.revision
  return (route) => {
    if (pins.revision !== revision) {
      revision = pins.revision
      known = new WeakMap()
    }
    let state = known.get(route)
    if (state === undefined) known.set(route, (state = stateOf(pins, route)))
    return state
  }
}

function stateOf(pins: Pick<Pins, 'state'>, route: Route): PinState {
  const { kind, name } = route.pinned ?? { kind: route.kind, name: route.capability }
  return pins.state({ peer: route.peer, endpoint: route.endpoint, kind, name }, route.fingerprint)
}
