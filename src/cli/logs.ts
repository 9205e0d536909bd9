/** `comity logs <peer>`: what a stdio server printed beside the protocol, as the process that runs it kept it. */
import { createSocketOperator, ownerAt } from '../gateway/admin/call-socket.ts'
import { ComityError } from '../gateway/admin/errors.ts'
import type { Live } from '../gateway/admin/operator.ts'
import { EXIT } from './exit-codes.ts'
import type { CommonOptions } from './main.ts'
import { configOf, controlSocketOf } from './session.ts'
import { type Terminal, visible, visibleLines } from './terminal.ts'

export interface LogsOptions extends CommonOptions {
  readonly lines: string
  readonly follow?: boolean
}

export async function logs(
  options: LogsOptions,
  terminal: Terminal,
  peer: string,
): Promise<number> {
  const lines = Number(options.lines)
  if (!Number.isInteger(lines) || lines < 1)
    throw new ComityError('usage', `-n expects a count from 1 on, got ${visible(options.lines)}`)
  const config = configOf(options.config)
  const server = config.mcpServers.find(({ name }) => name === peer)
  if (server === undefined && !config.peers.includes(peer))
    throw new ComityError(
      'not_found',
      `no peer is called ${peer}; configured: ${config.peers.join(', ') || 'none'}`,
    )
  if (server?.transport !== 'stdio')
    throw new ComityError(
      'conflict',
      `${peer} is reached over HTTP: what it prints stays where it runs. Only servers that comity starts itself (command:) have logs here`,
    )
  const socket = controlSocketOf(config)
  if ((await ownerAt(socket)) === undefined)
    throw new ComityError(
      'conflict',
      `no process is up, so ${peer} is not running: what a server prints is kept by the process that runs it. comity up, or any host, starts one`,
    )
  const follow = options.follow === true
  const stop = new AbortController()
  const interrupt = (): void => stop.abort()
  process.once('SIGINT', interrupt)
  const live: Live = {
    signal: stop.signal,
    event: (event) => {
      if (event.event === 'log') showLine(terminal, event.text)
    },
  }
  try {
    const report = await createSocketOperator(socket).logs({ peer, lines, follow }, live)
    if (terminal.json && !follow) terminal.answer(report)
    else {
      for (const line of report.lines) showLine(terminal, line)
      if (report.detail !== undefined)
        terminal.note(`${peer} is not running: ${visibleLines(report.detail)}`)
      else if (report.lines.length === 0 && !follow) terminal.note(`${peer} printed nothing yet`)
    }
    return EXIT.done
  } finally {
    process.off('SIGINT', interrupt)
  }
}

/** The peer's words, alone on their line. */
function showLine(terminal: Terminal, line: string): void {
  terminal.line(terminal.json ? JSON.stringify({ line }) : visibleLines(line))
}
