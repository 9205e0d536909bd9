/**
 * What we declare to a server that we can do: at `initialize` for a session that several calls share,
 * or on each request what this call's caller declared. Never more than is relayed.
 *
 * @source MCP 2025-11-25, lifecycle; 2026-07-28, basic, `_meta` and extensions.
 */
import type { CallerCan } from '../../core/words/question.ts'
import { TASKS_EXTENSION } from '../wire/rev-2026-07-28.ts'
import type { MayAsk } from './asks.ts'
import { hasTasks } from './read-task.ts'

/** Extensions whose methods, fields and results all travel through. Tasks are another matter: they are ours on each hop. */
const RELAYED_EXTENSIONS = ['io.modelcontextprotocol/ui', 'io.modelcontextprotocol/skills'] as const

/** For a session: what is beyond one caller is refused question by question. @param revision the one asked for. */
export function declareAtStart(may: MayAsk, revision: string): Readonly<Record<string, unknown>> {
  // Dates as text sort as dates do. Modes came with 2025-11-25; before, the empty object means forms.
  const elicitation = revision >= '2025-11-25' ? { form: {}, url: {} } : {}
  return {
    ...(may.elicitation && revision >= '2025-06-18' ? { elicitation } : {}),
    ...(may.sampling ? { sampling: {} } : {}),
    ...(may.roots ? { roots: {} } : {}),
  }
}

/**
 * For one request: what its caller declared and the operator lets this server ask.
 *
 * @param theirs what the server declares: tasks are for those that have them.
 */
export function declareFor(
  can: CallerCan,
  may: MayAsk,
  theirs: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const { form, url, sampling, roots } = narrow(can, may)
  const tasks = can.tasks !== undefined && hasTasks(theirs, TASKS_EXTENSION)
  const relayed = Object.fromEntries(
    RELAYED_EXTENSIONS.flatMap((name) => {
      const settings = can.extensions?.[name]
      return settings === undefined ? [] : [[name, settings] as const]
    }),
  )
  const extensions = tasks ? { ...relayed, [TASKS_EXTENSION]: {} } : relayed
  return {
    ...(form || url
      ? { elicitation: { ...(form ? { form: {} } : {}), ...(url ? { url: {} } : {}) } }
      : {}),
    ...(sampling ? { sampling: {} } : {}),
    ...(roots ? { roots: {} } : {}),
    ...(Object.keys(extensions).length === 0 ? {} : { extensions }),
  }
}

/** What a caller can bear of what this server may ask. */
export function narrow(can: CallerCan, may: MayAsk): CallerCan {
  return {
    ...can,
    form: can.form && may.elicitation,
    url: can.url && may.elicitation,
    sampling: can.sampling && may.sampling,
    roots: can.roots && may.roots,
  }
}
