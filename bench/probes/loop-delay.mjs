// Preloaded into a gateway: on SIGUSR2 the delay of its main thread's event loop since the last SIGUSR2 is written to
// LOOP_DELAY_FILE, as JSON in milliseconds, and counting begins anew.
import { renameSync, writeFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'

if (isMainThread) {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  process.on('SIGUSR2', () => {
    const ms = (nanoseconds) => nanoseconds / 1e6
    const seen = {
      p50: ms(delay.percentile(50)),
      p99: ms(delay.percentile(99)),
      max: ms(delay.max),
    }
    delay.reset()
    const file = process.env.LOOP_DELAY_FILE
    writeFileSync(`${file}.new`, JSON.stringify(seen))
    renameSync(`${file}.new`, file)
  })
}
