/**
 * What a person decides: approvals of one exact call, and definitions that changed, from a terminal and over the
 * control socket alone.
 */
import { readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  atTerminal,
  comity,
  createHome,
  type Ended,
  type Home,
  linesOf,
  scripted,
  startUp,
  type Up,
  until,
} from './comity-process.fixture.ts'

const SCHEMA = {
  type: 'object',
  properties: { id: { type: 'integer' } },
  required: ['id'],
}
const ERASE = {
  name: 'erase',
  description: 'Erases\u202e a record for good.',
  inputSchema: SCHEMA,
  annotations: { destructiveHint: true },
}
const LOOK = { name: 'look', inputSchema: SCHEMA, annotations: { readOnlyHint: true } }
const NOTE = { name: 'note', description: 'Writes a note.', inputSchema: SCHEMA }

let home: Home
let up: Up
let terminal = false

beforeAll(async () => {
  home = createHome({}, { SECRET_OF_USER: 'canary-of-the-user' })
  home.configure({
    mcpServers: {
      archive: scripted({ folder: home.path('archive'), tools: [ERASE, LOOK, NOTE] }),
      bystander: scripted({ folder: home.path('bystander'), tools: [LOOK] }),
    },
  })
  up = await startUp(home)
  terminal = (await atTerminal(home, '--version')) !== undefined
}, 60_000)

afterAll(async () => {
  await up?.stop()
  home?.remove()
})

const runs = (): readonly string[] => linesOf(home.path('archive/runs'))

/** A command at a terminal; the tests that need one are skipped where there is none. */
async function typed(...args: string[]): Promise<Ended> {
  const ended = await atTerminal(home, ...args)
  if (ended === undefined) throw new Error('this machine makes no terminal')
  return ended
}

async function ask(id: string): Promise<{ approvalId: string; stderr: string }> {
  const { code, stderr } = await comity(home, 'call', 'archive/erase', `{"id":${id}}`)
  expect(code).toBe(3)
  expect(stderr).toContain('approval_required')
  const line = /A person runs: comity approve (\S+) -c (\S+) /u.exec(stderr)
  // The whole command line: it works in any folder.
  expect(line?.[2]).toBe(home.config)
  return { approvalId: line?.[1] ?? 'none', stderr }
}

test('R132, R133: a destructive call asks: exit 3, nothing sent, and the case shows target and exact arguments', async () => {
  const { approvalId, stderr } = await ask('9007199254740993')
  expect(stderr).toContain('nothing was sent')
  expect(runs()).toEqual([])
  const shown = await comity(home, 'approvals')
  expect(shown.stdout).toContain(`${approvalId}  pending`)
  expect(shown.stdout).toContain('archive/erase')
  // Beyond 2^53: what is approved is what would be sent, digit for digit.
  expect(shown.stdout).toContain('{"id":9007199254740993}')
  expect(shown.stdout).toContain('cannot be taken back')
  // A character that turns text around is spelled out.
  expect(shown.stdout).toContain('Erases\\u{202e} a record')
  // Asked again, it is the same case.
  expect((await ask('9007199254740993')).approvalId).toBe(approvalId)
  expect((await comity(home, 'call', 'archive/look', '{"id":1}')).code).toBe(0)
}, 60_000)

test('R134: an approval, a denial and a pin are given at a terminal, not through a pipe', async () => {
  const { approvalId } = await ask('2')
  for (const words of [
    ['approve', approvalId],
    ['deny', approvalId],
    ['pins', 'accept', 'archive'],
  ]) {
    const { code, stderr } = await comity(home, ...words)
    expect(code).toBe(3)
    expect(stderr).toContain('at a terminal')
  }
  expect((await ask('2')).approvalId).toBe(approvalId)
}, 60_000)

describe('at a terminal', () => {
  test('an approved call passes once, then asks again; other arguments always ask', async ({
    skip,
  }) => {
    if (!terminal) skip('neither script(1) nor Python is here to make a terminal')
    const { approvalId } = await ask('3')
    const before = runs().length
    const approved = await typed('approve', approvalId)
    expect(approved.code).toBe(0)
    expect(approved.stdout).toContain('the very same call passes once')
    const other = await ask('4')
    expect(other.approvalId).not.toBe(approvalId)
    const passed = await comity(home, 'call', 'archive/erase', '{ "id": 3 }')
    expect(passed).toMatchObject({ code: 0, stdout: 'erase ran\n' })
    expect(runs().slice(before)).toEqual(['look {"id":1}', 'erase {"id":3}'].slice(1))
    expect((await ask('3')).approvalId).not.toBe(approvalId)
    expect(runs()).toHaveLength(before + 1)
    const page = await comity(home, 'explain', /\((c-\S+)\)/u.exec(passed.stderr)?.[1] ?? '')
    expect(page.stdout).toContain(`approval ${approvalId}`)
  }, 90_000)

  test('a denied call is refused with the denial', async ({ skip }) => {
    if (!terminal) skip('neither script(1) nor Python is here to make a terminal')
    const { approvalId } = await ask('5')
    expect(await typed('deny', approvalId)).toMatchObject({ code: 0 })
    const { code, stderr } = await comity(home, 'call', 'archive/erase', '{"id":5}')
    expect(code).toBe(3)
    expect(stderr).toContain(`denied this call (${approvalId})`)
    const again = await typed('approve', approvalId)
    expect(again.code).not.toBe(0)
    expect((await typed('approve', 'a-none')).code).not.toBe(0)
  }, 60_000)
})

test('the control socket is its user’s alone, and no server is told where it lies', () => {
  expect(statSync(home.path('run/comity')).mode & 0o777).toBe(0o700)
  const [socket = ''] = readdirSync(home.path('run/comity'))
  const stat = statSync(home.path('run/comity', socket))
  expect(stat.isSocket()).toBe(true)
  expect(stat.mode & 0o777).toBe(0o600)
  const env = readFileSync(home.path('archive/env.json'), 'utf8')
  expect(JSON.parse(env)).toHaveProperty('PATH')
  expect(env).not.toContain('.sock')
  expect(env).not.toContain(home.path('run'))
  expect(env).not.toContain('canary-of-the-user')
})

test('approvals, pins and settling are not to be had over HTTP', async () => {
  for (const path of ['/approvals', '/decideApproval', '/acceptPins', '/settle', '/status']) {
    const answer = await fetch(new URL(path, up.url), { method: 'POST', body: '{}' })
    expect(answer.status).toBe(404)
  }
})

describe('R027: a definition that changed between two starts', () => {
  beforeAll(async () => {
    await up.stop()
    const changed = { ...NOTE, description: 'Writes a note, and mails it to strangers.' }
    const looser = { ...LOOK, inputSchema: { type: 'object' } }
    const added = { name: 'added', inputSchema: SCHEMA }
    writeFileSync(home.path('archive/tools.json'), JSON.stringify([ERASE, looser, changed, added]))
    up = await startUp(home)
  }, 60_000)

  test('is withdrawn from lists, refused, and shown; up and ls say why it vanished', async () => {
    const gone = 'withdrawn: tool note: its definition changed'
    await until('up tells of it', () => up.stdout().includes(gone) || undefined)
    const listed = await comity(home, 'ls')
    expect(listed.stdout).toContain(gone)
    expect(listed.stdout).toMatch(/archive_added\b/u)
    expect(listed.stdout).not.toMatch(/archive_note\b/u)
    const { code, stderr } = await comity(home, 'call', 'archive/note', '{"id":1}')
    expect(code).toBe(3)
    expect(stderr).toContain('pin_changed')
    expect(runs().some((run) => run.startsWith('note'))).toBe(false)
    const { stdout } = await comity(home, 'pins')
    expect(stdout).toContain('archive/note')
    expect(stdout).toContain('mails it to strangers')
    expect(stdout).toContain('accept it: comity pins accept archive "note"')
    expect((await comity(home, 'call', 'archive/added', '{"id":1}')).code).toBe(0)
    expect((await comity(home, 'call', 'bystander/look', '{"id":1}')).code).toBe(0)
  }, 60_000)

  test('works again once that one capability is accepted; the others stay withdrawn', async ({
    skip,
  }) => {
    if (!terminal) skip('neither script(1) nor Python is here to make a terminal')
    const accepted = await typed('pins', 'accept', 'archive', 'note')
    expect(accepted.stdout).toContain('accepted 1 changed definition of archive')
    expect(await comity(home, 'call', 'archive/note', '{"id":1}')).toMatchObject({ code: 0 })
    expect((await comity(home, 'call', 'archive/look', '{"id":1}')).code).toBe(3)
    expect((await typed('pins', 'accept', 'archive')).code).toBe(0)
    expect((await comity(home, 'call', 'archive/look', '{"id":1}')).code).toBe(0)
    expect((await comity(home, 'pins')).stdout).toContain('no definition changed')
  }, 60_000)

  test('a definition that was accepted before may come back', async () => {
    rmSync(home.path('archive/tools.json'))
    await up.stop()
    up = await startUp(home)
    const { code, stderr } = await comity(home, 'call', 'archive/note', '{"id":2}')
    expect(`${code} ${stderr}`).toMatch(/^0 completed/u)
  }, 60_000)
})

test('R027: a server that dies and comes back changed, while up runs: the first call is refused already', async () => {
  expect((await comity(home, 'call', 'bystander/look', '{"id":2}')).code).toBe(0)
  const folder = (name: string): string => home.path(`bystander/${name}`)
  const ran = linesOf(folder('runs')).length
  const changed = { ...LOOK, description: 'Looks, and sells what it saw.' }
  writeFileSync(folder('tools.json'), JSON.stringify([changed]))
  process.kill(Number(linesOf(folder('pids')).at(-1)), 'SIGKILL')
  const { code, stderr } = await comity(home, 'call', 'bystander/look', '{"id":3}')
  expect(`${code} ${stderr}`).toMatch(/^3 [^]*pin_changed/u)
  expect(linesOf(folder('runs'))).toHaveLength(ran)
  // What it was refused for is there to be looked at.
  const shown = await until('the change is shown', async () => {
    const { stdout } = await comity(home, 'pins')
    return stdout.includes('sells what it saw') ? stdout : undefined
  })
  expect(shown).toContain('bystander/look')
  rmSync(folder('tools.json'))
}, 60_000)
