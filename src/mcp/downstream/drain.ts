/** The end of a door: running requests may finish for a while, are then told to stop, and get a moment to say how it went. */

/** How long a stopped request may take to answer, milliseconds. */
const LAST_WORDS_MS = 1000

/**
 * @param settled resolves when nothing runs any more.
 * @param closing aborted with `shutdown` when the time is up.
 */
export async function drain(
  settled: () => Promise<unknown>,
  drainMs: number,
  closing: AbortController,
): Promise<void> {
  if (await within(settled(), drainMs)) return
  closing.abort('shutdown')
  await within(settled(), LAST_WORDS_MS)
}

async function within(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, ms, false)
  })
  try {
    return await Promise.race([work.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}
