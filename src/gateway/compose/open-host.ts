/**
 * Opens a host: the store first, since it has one owner, and all else loaded while its writer begins in a thread of its own.
 */
import { openStore } from '../../store/open-sqlite.ts'
import type { Host, HostOptions } from './host.ts'
import { systemClock } from './world.ts'

/** @throws ComityError `store_locked` naming the process that owns the store, `store_corrupt`, `config_invalid`. */
export async function openHost(options: HostOptions): Promise<Host> {
  const onFault = options.onFault ?? ((): void => undefined)
  const opening = openStore({
    file: options.config.store,
    clock: systemClock,
    onFault: (fault) => onFault('store', fault),
  })
  const loading = import('./host.ts')
  const [store, parts] = await Promise.allSettled([opening, loading])
  if (store.status === 'rejected') throw store.reason
  if (parts.status === 'fulfilled') return parts.value.assembleHost(options, store.value, onFault)
  await store.value.close()
  throw parts.reason
}
