/** No process that a server started outlives it: real processes, found by an entry of their environment. */
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openPeer, until } from '../../../test/mcp/upstream-peer.ts'
import type { McpPeer } from './client.ts'

/** As small as a server can be: a shell that answers by hand, so that a hundred starts cost little. */
const SERVER = `
sleep 3600 &
setsid sleep 3600 &
say() { printf '{"jsonrpc":"2.0","id":%s,%s}\\n' "$1" "$2"; }
while read -r line; do
  id=\${line#*\\"id\\":}; id=\${id%%,*}
  case $line in
    *'"initialize"'*) say "$id" '"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}';;
    *'"tools/list"'*) say "$id" '"result":{"tools":[{"name":"pay","inputSchema":{"type":"object"}}]}';;
    *notifications/*) ;;
    *) say "$id" '"error":{"code":-32601,"message":"no"}';;
  esac
done
`

/** Processes whose environment holds this entry. */
function marked(entry: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/u.test(name))
    .filter((name) => {
      try {
        const { length } = readFileSync(`/proc/${name}/cmdline`)
        // One that only waits to be collected has no command line any more.
        return (
          length > 0 && readFileSync(`/proc/${name}/environ`, 'latin1').split('\0').includes(entry)
        )
      } catch {
        return false
      }
    })
    .map(Number)
}

test.skipIf(process.platform !== 'linux')(
  'after a hundred restarts only what runs now is left, also of what left its group; a close leaves none',
  async () => {
    const mark = randomBytes(8).toString('hex')
    const peers = [1, 2, 3, 4, 5].map(() =>
      openPeer(
        { transport: 'stdio', command: 'sh', args: ['-c', SERVER], env: { ORPHAN_TEST: mark } },
        { revision: '2025-06-18' },
      ),
    )
    const restart = async (peer: McpPeer): Promise<void> => {
      for (let round = 0; round < 20; round += 1) await peer.restart()
    }
    await Promise.all(peers.map(restart))
    for (const peer of peers) {
      const [tool] = (await peer.listing()).capabilities
      expect(tool?.name).toBe('pay')
    }
    await until(
      'five shells and their two sleeps each are left',
      () => marked(`ORPHAN_TEST=${mark}`).length === 15,
    )
    await Promise.all(peers.map((peer) => peer.close()))
    await until('none is left', () => marked(`ORPHAN_TEST=${mark}`).length === 0)
  },
  120_000,
)
