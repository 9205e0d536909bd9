/** Calls that go on in this process as tasks end with it: their peers are told, and what comes of that is on record first. */
import type { RunningWork } from '../../core/dispatch.ts'

/** How long peers may take to say how it went, milliseconds. */
const LAST_WORDS_MS = 2_000

/** Never rejects. */
export async function endRunning(running: RunningWork): Promise<void> {
  const ending = [...running.values()].flatMap(({ stop, ended }) => {
    if (ended === undefined) return []
    stop('shutdown')
    return [ended]
  })
  if (ending.length === 0) return
  const late = Promise.withResolvers<void>()
  const timer = setTimeout(late.resolve, LAST_WORDS_MS)
  await Promise.race([Promise.allSettled(ending), late.promise])
  clearTimeout(timer)
}
