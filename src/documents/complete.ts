/**
 * Completion: what a person may be about to type into an argument of a prompt or of the template.
 *
 * Documents are offered only to those who may see them, so completing tells no more than listing does.
 *
 * @source MCP 2026-07-28, server, utilities, completion
 */
import { z } from 'zod'
import { LANGUAGE_KEY, LANGUAGES } from './contracts.ts'
import { documentUri } from './document.ts'

/** As many as an answer may have. */
const MAX_VALUES = 100
const DOCUMENT_ARGUMENTS: readonly string[] = ['document', 'from', 'to']

const ASKED = z.object({
  ref: z.object({ type: z.string() }),
  argument: z.object({ name: z.string(), value: z.string() }),
})

/** Values for an argument, best first. */
export interface Completion {
  readonly values: readonly string[]
  readonly total: number
  readonly hasMore: boolean
}

/**
 * Completes an argument; one that nothing can be said about has no values.
 *
 * @param params of `completion/complete`, its form already checked by the door.
 * @param ids of the documents that the one who asks may see.
 */
export async function completeArgument(
  params: unknown,
  ids: () => Promise<readonly string[]>,
): Promise<Completion> {
  const parsed = ASKED.safeParse(params)
  if (!parsed.success) return among([], '')
  const { ref, argument } = parsed.data
  if (DOCUMENT_ARGUMENTS.includes(argument.name)) {
    const isTemplate = ref.type === 'ref/resource'
    const known = await ids()
    // In a URI each segment is encoded; what is typed there is, too.
    const offered = isTemplate ? known.map((id) => documentUri(id).slice('docs://'.length)) : known
    return among(offered, argument.value)
  }
  return among(argument.name === LANGUAGE_KEY ? LANGUAGES : [], argument.value)
}

/** Those that begin with what was typed, then those that hold it. */
function among(offered: readonly string[], typed: string): Completion {
  const wanted = typed.toLowerCase()
  const found = offered.filter((value) => value.toLowerCase().includes(wanted))
  const begins = (value: string): boolean => value.toLowerCase().startsWith(wanted)
  const values = [...found.filter(begins), ...found.filter((value) => !begins(value))]
  return {
    values: values.slice(0, MAX_VALUES),
    total: values.length,
    hasMore: values.length > MAX_VALUES,
  }
}
