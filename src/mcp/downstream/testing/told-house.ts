/** A scripted house whose lists change and whose resources are updated when the test says so. */
import type { ListKind } from '../../../core/ports/catalogue.ts'
import type { Principal } from '../../../core/words/principal.ts'
import { createScriptedHouse, type Scripted, type ScriptedHouse } from './scripted-house.ts'

export interface ToldHouse extends ScriptedHouse {
  /** As a catalogue does, for whom it would see that. */
  change(kind: ListKind, to?: string): void
  update(uri: string): void
  /** URIs that are watched now, once for each who watches. */
  watched(): readonly string[]
}

export function createToldHouse(capabilities: readonly Scripted[]): ToldHouse {
  const house = createScriptedHouse(capabilities)
  const listeners = new Set<{
    readonly listener: (kind: ListKind) => void
    readonly principal?: Principal
  }>()
  const watches = new Set<{ readonly uri: string; readonly listener: (uri: string) => void }>()
  return {
    ...house,
    catalogue: {
      ...house.catalogue,
      onChanged: (listener, principal) => {
        const one = { listener, ...(principal === undefined ? {} : { principal }) }
        listeners.add(one)
        return () => listeners.delete(one)
      },
      features: async () => ({
        completions: false,
        subscribe: true,
        logging: true,
        extensions: {},
      }),
      watch: (route, listener) => {
        if (route.exposed.startsWith('silent:')) return undefined
        const one = { uri: route.exposed, listener }
        watches.add(one)
        return () => watches.delete(one)
      },
    },
    change: (kind, to) => {
      for (const { listener, principal } of listeners) {
        if (to === undefined || principal?.id === to) listener(kind)
      }
    },
    update: (uri) => {
      for (const one of watches) if (one.uri === uri) one.listener(uri)
    },
    watched: () => [...watches].map(({ uri }) => uri),
  }
}
