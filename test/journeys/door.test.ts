import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const door = join(root, 'bin/comity.js')
const run = promisify(execFile)

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

async function start(node: string, args: readonly string[]): Promise<Ended> {
  try {
    return { code: 0, ...(await run(node, args, { timeout: 15_000 })) }
  } catch (error) {
    const { code, stdout, stderr } = error as Ended
    return { code, stdout, stderr }
  }
}

/** The door under this Node, which says that it is another one. */
function startAs(version: string): Promise<Ended> {
  const disguise = `Object.defineProperty(process, 'version', { value: '${version}' })`
  return start(process.execPath, [
    '--import',
    `data:text/javascript,${disguise}`,
    door,
    '--version',
  ])
}

function expectComplaint({ code, stdout, stderr }: Ended, version: string): void {
  expect(code).toBe(2)
  expect(stdout).toBe('')
  expect(stderr.trimEnd().split('\n')).toHaveLength(1)
  expect(stderr).toContain(`comity needs Node.js 22.18 or newer and was started by ${version} (`)
  expect(stderr).toContain('npm install --global node@26')
  expect(stderr).toContain('https://nodejs.org')
  expect(stderr).toContain(`npx -p node@26 node ${JSON.stringify(door)}`)
}

test.each(['v12.22.12', 'v20.20.2', 'v22.17.1'])(
  'Node %s is told what comity needs',
  async (version) => {
    expectComplaint(await startAs(version), version)
  },
)

test.each(['v22.18.0', 'v24.0.0', 'v26.10.0', 'v100.0.0'])('Node %s comes in', async (version) => {
  const { stderr } = await startAs(version)
  expect(stderr).not.toContain('comity needs Node.js')
})

test('the door and package.json need the same Node', () => {
  const { NEEDED }: { NEEDED: readonly number[] } = createRequire(import.meta.url)(
    join(root, 'bin/requirement.js'),
  )
  const manifest: { engines: { node: string } } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  )
  expect(manifest.engines.node).toBe(`>=${NEEDED.join('.')}`)
})

const old = await findOldNode()

test.skipIf(old === undefined)(
  `a true old Node is told too (${old?.version ?? 'skipped: every Node on PATH is new enough'})`,
  async () => {
    expectComplaint(await start(old?.path ?? '', [door, '--version']), old?.version ?? '')
  },
)

async function findOldNode(): Promise<{ path: string; version: string } | undefined> {
  const places = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/bin', '/usr/local/bin']
  for (const place of new Set(places)) {
    const path = join(place, 'node')
    if (!existsSync(path)) continue
    const version = (await start(path, ['--version'])).stdout.trim()
    const [major = 0, minor = 0] = version.slice(1).split('.').map(Number)
    if (major > 0 && (major < 22 || (major === 22 && minor < 18))) return { path, version }
  }
  return undefined
}
