// Preloaded into a gateway: SIGUSR2 begins a CPU profile of every thread, the next one ends it and writes PROFILE_FOLDER/<thread>.cpuprofile.
// So neither start-up nor idling is in it.
import { writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { join } from 'node:path'
import { BroadcastChannel, isMainThread, threadId } from 'node:worker_threads'

const session = new Session()
session.connect()
session.post('Profiler.enable')
session.post('Profiler.setSamplingInterval', { interval: 500 })
let running = false
const toggle = () => {
  if (!running) {
    session.post('Profiler.start', () => (running = true))
    return
  }
  running = false
  session.post('Profiler.stop', (_error, { profile }) => {
    writeFileSync(
      join(process.env.PROFILE_FOLDER, `${threadId}.cpuprofile`),
      JSON.stringify(profile),
    )
  })
}
const channel = new BroadcastChannel('bench-profile')
channel.unref()
if (isMainThread) {
  process.on('SIGUSR2', () => {
    channel.postMessage('')
    toggle()
  })
} else channel.onmessage = toggle
