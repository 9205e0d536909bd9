// Preloaded into a gateway, with --expose-gc: on SIGUSR2 every thread collects all its garbage, and what is held then is written to
// HELD_MEMORY_FILE, as JSON in MiB.
import { renameSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { BroadcastChannel, isMainThread } from 'node:worker_threads'

const MIB = 1024 * 1024
/** Time enough for the other threads to answer. */
const ANSWER_MS = 1000

const collect = async () => {
  // What was freed frees more: finalizers run between two.
  for (let turn = 0; turn < 3; turn += 1) {
    globalThis.gc()
    await pause(20)
  }
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / MIB
}
const channel = new BroadcastChannel('bench-held-memory')
channel.unref()
let others = 0
const write = async () => {
  others = 0
  channel.postMessage('collect')
  const own = await collect()
  await pause(ANSWER_MS)
  const file = process.env.HELD_MEMORY_FILE
  const seen = { held: own + others, resident: process.memoryUsage.rss() / MIB }
  writeFileSync(`${file}.new`, JSON.stringify(seen))
  renameSync(`${file}.new`, file)
}
const answer = async () => channel.postMessage(await collect())
if (isMainThread) {
  channel.onmessage = ({ data }) => {
    others += data
  }
  process.on('SIGUSR2', () => void write())
} else {
  channel.onmessage = ({ data }) => {
    if (data === 'collect') void answer()
  }
}
