/** The tokens of a store in a process of its own: says what it does, line by line. `node token-child.ts <store> <act> [...]` */
import { openTokenFile } from '../tokens.ts'

const [store = '', act = '', ...rest] = process.argv.slice(2)
const LEASE_MS = 600
const PLACE = ['tokens', 'alice', 'docs'] as const
const say = (line: string): void => void process.stdout.write(`${line}\n`)

const file = openTokenFile({ store, leaseMs: LEASE_MS })

switch (act) {
  case 'open':
    say(`opened ${file.load(PLACE)?.text ?? 'nothing'}`)
    break
  case 'hold':
    // Until it is killed.
    await file.exclusively(PLACE, async () => {
      say('holds')
      await new Promise((resolve) => setTimeout(resolve, 60_000))
    })
    break
  case 'renew':
    // As a renewal of tokens does: what another one renewed meanwhile is good enough.
    await file.exclusively(PLACE, async () => {
      const kept = file.load(PLACE)
      if (kept === undefined || kept.text !== rest[0]) return say(`found ${kept?.text}`)
      say('renews')
      await new Promise((resolve) => setTimeout(resolve, LEASE_MS * 2))
      say(file.save(PLACE, `renewed by ${process.pid}`, kept.version) ? 'renewed' : 'too late')
    })
    break
  case 'count':
    for (let step = 0; step < Number(rest[0]); step += 1) {
      await file.exclusively(PLACE, async () => {
        const { text, version } = file.load(PLACE) ?? { text: '0', version: 0 }
        await Promise.resolve()
        if (!file.save(PLACE, String(Number(text) + 1), version)) say('lost')
      })
    }
    say('counted')
    break
  default:
    say('expected an act')
}
file.close()
