/** The doctor's look at protocol revisions: peers between two of them, and deprecated features that are in use. Asks a process that is up, and starts nothing. */
import { createSocketOperator, ownerAt } from './call-socket.ts'
import type { Finding } from './doctor.ts'
import type { PeerLine } from './operator.ts'

/** @returns nothing where no process is up that could have seen anything. */
export async function examineRevisions(socket: string): Promise<readonly Finding[]> {
  try {
    if ((await ownerAt(socket)) === undefined) return []
    const unheard = { signal: AbortSignal.timeout(ANSWER_MS), event: () => undefined }
    const { peers } = await createSocketOperator(socket).status({ waitMs: 0 }, unheard)
    return peers.flatMap((peer) => [...findMigration(peer), ...findDeprecated(peer)])
  } catch {
    // A process that cannot be asked is told of as such.
    return []
  }
}

const ANSWER_MS = 5_000

function findMigration({ peer: about, migration }: PeerLine): readonly Finding[] {
  if (migration === undefined) return []
  const { from, to, decision, suspended, unlisted, differences } = migration
  const found: Finding[] = []
  if (decision !== undefined) {
    const is = decision.decided === 'promoted' ? to.revision : from.revision
    const what = decision.decided === 'promoted' ? `promoted to ${is}` : `rolled back to ${is}`
    const text = `${what} at ${decision.at}, and its configuration still has canary:`
    const todo = `write revision: "${is}" in place of canary:`
    return [{ about, state: 'note', text, todo }]
  }
  if (suspended !== undefined) {
    const text = `its canary of ${to.revision} is suspended, everyone is served by ${from.revision}: ${suspended}`
    const todo = `mend the server and comity restart ${about}, or comity rollback ${about}`
    return [{ about, state: 'problem', text, todo }]
  }
  if (unlisted !== undefined) {
    const text = `its canary of ${to.revision} could not be listed: ${unlisted}`
    const todo = 'it is tried again by itself, and suspended when it goes on failing'
    found.push({ about, state: 'note', text, todo })
  }
  if (differences.length > 0) {
    const text = `${differences.length} of what it offers differ between ${from.revision} and ${to.revision}: those are called on ${from.revision}`
    found.push({ about, state: 'note', text, todo: `comity compat ${about} shows them` })
  }
  return found
}

function findDeprecated({ peer: about, deprecated = [] }: PeerLine): readonly Finding[] {
  return deprecated.map(({ feature, state, since, removal, instead, count }) => {
    const until =
      state === 'gone' ? `gone in ${since}` : `deprecated since ${since}, goes ${removal}`
    const text = `uses ${feature} (${count} ×): ${until}`
    return { about, state: 'note', text, todo: `whoever runs it can use ${instead} instead` }
  })
}
