/**
 * What the journeys of the documents server have in common: a folder with documents D1 to D4, of
 * which D4 is for alice alone, and the server as a process over stdio or HTTP.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'

const SERVER = join(import.meta.dirname, 'documents-server.ts')

/** Exact bytes on disk, by file name. */
export const DOCUMENTS = {
  'D1.md':
    '---\nversion: "1.2"\n---\n# Retention of contracts\r\n\r\nContracts are kept ten years.\r\n',
  'D2.txt': 'Retention: what the archive keeps, and how long contracts stay.\n合同保存十年。\n',
  'D3.yaml': 'version: 2026-11\ncanteen:\n  opens: noon\n',
  'D4.md':
    '---\nversion: "secret-4"\nreaders: [alice]\n---\n# Dispute\n\nRetention of contracts under dispute, in plain contracts.\n',
} as const

/** Tokens of the folder's principals. */
export const TOKENS = { alice: 'token-of-alice', bob: 'token-of-bob' } as const

/** Makes the folder; it is called `docs`. @returns its path. */
export function createFolder(): string {
  const root = mkdtempSync(join(tmpdir(), 'comity-docs-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const folder = join(root, 'docs')
  mkdirSync(folder)
  const rules = `tokens: ${JSON.stringify(TOKENS)}\n`
  for (const [name, content] of Object.entries({ ...DOCUMENTS, 'comity-docs.yaml': rules })) {
    writeFileSync(join(folder, name), content)
  }
  return folder
}

/** The command line of a server on stdio, for clients that start it themselves. */
export function stdioCommand(folder: string, as?: string): { command: string; args: string[] } {
  const options = { folders: [folder], version: '0.0.0', ...(as === undefined ? {} : { as }) }
  return { command: process.execPath, args: [SERVER, JSON.stringify(options)] }
}

/** A server on stdio that is spoken to line by line. */
export interface StdioPeer {
  /** Sends one line and waits for the next line that comes back, parsed. */
  exchange(line: string): Promise<Record<string, unknown>>
  /** Ends the input. @returns the exit code, and every line of output that was not read yet. */
  end(): Promise<{ readonly code: number | null; readonly rest: readonly string[] }>
}

export function startStdio(folder: string, as?: string): StdioPeer {
  const { command, args } = stdioCommand(folder, as)
  const child = start(command, args)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async exchange(line) {
      child.stdin.write(`${line}\n`)
      const next = await lines.next()
      return JSON.parse(next.value ?? 'null') as Record<string, unknown>
    },
    async end() {
      const exited = once(child, 'exit')
      child.stdin.end()
      const rest: string[] = []
      for (let next = await lines.next(); !next.done; next = await lines.next()) {
        rest.push(next.value)
      }
      const [code] = (await exited) as [number | null]
      return { code, rest }
    },
  }
}

/** Starts a server over HTTP. @returns its URL, once it can be called. */
export async function startHttp(folder: string): Promise<string> {
  return (await startHttpServer(folder)).url
}

/** As `startHttp`, with further options and a way to stop it before the test ends. */
export async function startHttpServer(
  folder: string,
  more: Readonly<Record<string, unknown>> = {},
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const options = { folders: [folder], version: '0.0.0', http: { port: 0 }, ...more }
  const child = start(process.execPath, [SERVER, JSON.stringify(options)])
  const said: string[] = []
  for await (const line of createInterface({ input: child.stderr })) {
    said.push(line)
    const url = /^comity docs ready on (\S+)$/u.exec(line)?.[1]
    if (url !== undefined) return { url, stop: () => stop(child) }
  }
  throw new Error(`the documents server ended before it was ready\n${said.join('\n')}`)
}

function start(command: string, args: readonly string[]): ChildProcessWithoutNullStreams {
  const child = spawn(command, args)
  onTestFinished(() => stop(child))
  return child
}

async function stop(child: ChildProcessWithoutNullStreams): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}
