/**
 * `subscriptions/listen`: one stream of news, from peers of every era, under this caller's own subscription id.
 *
 * Acknowledged first, with what is honoured; what is hidden, unknown or told by nobody is left out of that. News of the same
 * thing that wait together are one: a caller that does not read holds up nothing and costs no more than it subscribed to.
 *
 * @source MCP 2026-07-28, basic, subscriptions
 */
import type { ListKind } from '../../core/ports/catalogue.ts'
import { isObject } from '../../core/words/is-object.ts'
import { encodeNotification } from '../wire/json-rpc.ts'
import { jsonText } from '../wire/native.ts'
import { MODERN_META, MODERN_NOTIFICATIONS, RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import { encodeJson, setMembers } from '../wire/spans.ts'
import { badParams, ourError, type Answer, type ErrorAnswer } from './answer.ts'
import type { Door } from './options.ts'
import { encodeDetailedTask } from './task-form.ts'
import { lacksTasks } from './tasks.ts'
import { paramBytes, type Visit } from './visit.ts'

/** The filter members of lists, with the offer that each belongs to. */
const LISTS = {
  toolsListChanged: { offer: 'tools', method: MODERN_NOTIFICATIONS.toolsListChanged },
  promptsListChanged: { offer: 'prompts', method: MODERN_NOTIFICATIONS.promptsListChanged },
  resourcesListChanged: { offer: 'resources', method: MODERN_NOTIFICATIONS.resourcesListChanged },
} as const

type ListFilter = keyof typeof LISTS

const FILTER_OF = {
  tool: 'toolsListChanged',
  prompt: 'promptsListChanged',
  resource: 'resourcesListChanged',
  template: 'resourcesListChanged',
} as const satisfies Record<ListKind, ListFilter>

interface Filter {
  readonly lists: ReadonlySet<ListFilter>
  readonly uris: readonly string[]
  readonly taskIds: readonly string[]
}

/** Serves one stream until its caller leaves or the door closes. */
export async function listen(door: Door, visit: Visit): Promise<Answer> {
  const filter = readFilter(door, visit)
  if ('kind' in filter) return filter
  const leave = door.listeners.take(visit.principal.id)
  if (leave === undefined) {
    const text = 'too many subscriptions are open: close one, or put several into one'
    return ourError(RPC_ERRORS.internal, text, undefined, 429)
  }
  const over = Promise.withResolvers<void>()
  const pump = createPump(door, visit, door.limits.maxSubscriptions)
  const stops: (() => void)[] = [leave, pump.stop]
  const end = (): void => over.resolve()
  for (const signal of [visit.caller.signal, visit.caller.gone, door.leaving]) {
    if (signal.aborted) end()
    signal.addEventListener('abort', end, { once: true })
    stops.push(() => signal.removeEventListener('abort', end))
  }
  try {
    // Watched before it is acknowledged, told after: nothing in between is missed.
    stops.push(watchLists(door, visit, filter.lists, pump))
    const watched: string[] = []
    for (const uri of filter.uris) {
      const stop = await watchResource(door, visit, uri, pump)
      if (stop === undefined) continue
      watched.push(uri)
      stops.push(stop)
    }
    const known = await watchTasks(door, visit, filter.taskIds, pump, stops)
    const honoured = {
      ...Object.fromEntries([...filter.lists].map((list) => [list, true])),
      ...(watched.length === 0 ? {} : { resourceSubscriptions: watched }),
      ...(known.length === 0 ? {} : { taskIds: known }),
    }
    await visit.caller.notify(
      encodeNews(visit, MODERN_NOTIFICATIONS.acknowledged, { notifications: honoured }),
    )
    pump.start()
    await over.promise
  } finally {
    for (const stop of stops) stop()
  }
  return { kind: 'result', bytes: setMembers(encodeJson({}), undefined, { _meta: ownMeta(visit) }) }
}

function readFilter(door: Door, visit: Visit): Filter | ErrorAnswer {
  const bytes = paramBytes(visit, 'notifications')
  const wanted = bytes === undefined ? undefined : jsonText(bytes).value()
  if (!isObject(wanted))
    return badParams('subscriptions/listen needs params.notifications, an object')
  const lacking = wanted['taskIds'] === undefined ? undefined : lacksTasks(visit)
  if (lacking !== undefined) return lacking
  const most = door.limits.maxSubscriptions
  const uris = readTexts(wanted, 'resourceSubscriptions', most)
  if ('kind' in uris) return uris
  const taskIds = readTexts(wanted, 'taskIds', most)
  if ('kind' in taskIds) return taskIds
  const names = Object.keys(LISTS) as ListFilter[]
  const odd = names.find((name) => !['boolean', 'undefined'].includes(typeof wanted[name]))
  if (odd !== undefined) return badParams(`notifications.${odd} must be true or false`)
  const lists = names.filter((name) => wanted[name] === true && door.offers.has(LISTS[name].offer))
  return { lists: new Set(lists), uris, taskIds }
}

function readTexts(
  wanted: Readonly<Record<string, unknown>>,
  name: 'resourceSubscriptions' | 'taskIds',
  most: number,
): readonly string[] | ErrorAnswer {
  const texts = wanted[name] ?? []
  if (!Array.isArray(texts) || !texts.every((one): one is string => typeof one === 'string'))
    return badParams(`notifications.${name} must be an array of strings`)
  return texts.length > most
    ? badParams(`notifications.${name} may have ${most} members at most`)
    : [...new Set(texts)]
}

function watchLists(
  { ports }: Door,
  visit: Visit,
  lists: ReadonlySet<ListFilter>,
  pump: Pump,
): () => void {
  if (lists.size === 0) return () => undefined
  return ports.catalogue.onChanged((kind) => {
    const filter = FILTER_OF[kind]
    if (lists.has(filter)) pump.push(filter, () => encodeNews(visit, LISTS[filter].method, {}))
  }, visit.principal)
}

/** @returns undefined for what this caller cannot be told of. */
async function watchResource(
  { ports, report }: Door,
  visit: Visit,
  uri: string,
  pump: Pump,
): Promise<(() => void) | undefined> {
  const { catalogue } = ports
  const { principal } = visit
  const route = await catalogue.resolve('resource', uri, principal)
  if (route === undefined) return undefined
  const updated = async (changed: string): Promise<void> => {
    // It may have been hidden since, and what lies below it may be hidden from this caller.
    if ((await catalogue.resolve('resource', uri, principal)) === undefined) return
    const known =
      changed === uri || (await catalogue.resolve('resource', changed, principal)) !== undefined
    const told = known && pump.hasRoom() ? changed : uri
    pump.push(`uri ${told}`, () =>
      encodeNews(visit, MODERN_NOTIFICATIONS.resourceUpdated, { uri: told }),
    )
  }
  return catalogue.watch?.(route, (changed) => void updated(changed).catch(report))
}

/** @returns the ids of tasks that this caller may know of. What they are now is told first. */
async function watchTasks(
  door: Door,
  visit: Visit,
  taskIds: readonly string[],
  pump: Pump,
  stops: (() => void)[],
): Promise<readonly string[]> {
  const { delegation } = door.ports
  if (delegation === undefined || taskIds.length === 0) return []
  const { principal } = visit
  const found = await Promise.all(
    taskIds.map(async (id) => (await delegation.desk.load(id, principal)) !== undefined),
  )
  const known = taskIds.filter((_id, index) => found[index])
  const over = new AbortController()
  stops.push(() => over.abort())
  for (const id of known) {
    delegation.desk
      .watch(id, principal, over.signal, async (task) => {
        const params = await encodeDetailedTask(door, delegation, visit, task)
        pump.push(`task ${id}`, () => encodeNewsBytes(visit, MODERN_NOTIFICATIONS.tasks, params))
      })
      .catch(door.report)
  }
  return known
}

interface Pump {
  /** Queues news; what waits under the same key says the same. */
  push(key: string, encode: () => Uint8Array): void
  hasRoom(): boolean
  /** From now on news are sent. */
  start(): void
  stop(): void
}

/** Sends what waits, one after another, as fast as the caller reads, a burst at once. @param most keys that wait before the coarser ones are asked for. */
function createPump({ limits, report }: Door, { caller }: Visit, most: number): Pump {
  const waiting = new Map<string, () => Uint8Array>()
  let state: 'held' | 'idle' | 'sending' | 'stopped' = 'held'
  const send = async (): Promise<void> => {
    while (waiting.size > 0 && state === 'sending') {
      const [first] = waiting
      if (first === undefined) break
      waiting.delete(first[0])
      await caller.notify(first[1]())
    }
    if (state === 'sending') state = 'idle'
  }
  const sendSoon = (): void => {
    if (state !== 'idle' || waiting.size === 0) return
    state = 'sending'
    setTimeout(() => void send().catch(report), limits.coalesceMs).unref()
  }
  return {
    push: (key, encode) => {
      if (state === 'stopped') return
      waiting.set(key, encode)
      sendSoon()
    },
    hasRoom: () => waiting.size < most,
    start: () => {
      if (state !== 'held') return
      state = 'idle'
      sendSoon()
    },
    stop: () => {
      state = 'stopped'
      waiting.clear()
    },
  }
}

function encodeNews(
  visit: Visit,
  method: string,
  params: Readonly<Record<string, unknown>>,
): Uint8Array {
  return encodeNewsBytes(visit, method, encodeJson(params))
}

function encodeNewsBytes(visit: Visit, method: string, params: Uint8Array): Uint8Array {
  return encodeNotification(method, setMembers(params, undefined, { _meta: ownMeta(visit) }))
}

/** The subscription's id is the request's own, a number staying a number. */
function ownMeta({ request }: Visit): Uint8Array {
  return setMembers(encodeJson({}), undefined, {
    [MODERN_META.subscriptionId]: Buffer.from(request.id.json),
  })
}
