/** `comity prompt`: fetches a prompt through the same gate as everyone, and shows whose words it is made of. */
import { parseExact } from '../gateway/admin/exact-json.ts'
import { peersOf, sayBlock, showOutcome } from './call.ts'
import { exitOfOutcome } from './exit-codes.ts'
import type { CommonOptions } from './main.ts'
import { durationOf, pairOf } from './option-values.ts'
import { interruptible, openSession } from './session.ts'
import { type Terminal, brief, visible, visibleLines } from './terminal.ts'

export interface PromptOptions extends CommonOptions {
  readonly arg: readonly string[]
  readonly timeout: string
}

export async function prompt(
  options: PromptOptions,
  terminal: Terminal,
  target: string,
): Promise<number> {
  const input = {
    target,
    arguments: argumentsOf(options.arg),
    timeoutMs: durationOf('--timeout', options.timeout, '2m'),
  }
  const session = await openSession({ ...options, peers: peersOf(target) })
  try {
    const report = await interruptible(terminal, (live) => session.operator.prompt(input, live))
    const result = report.resultText === undefined ? undefined : parseExact(report.resultText)
    if (terminal.json) {
      const { callId, outcome, questions } = report
      terminal.answer({ callId, outcome, questions, result })
    } else {
      if (result !== undefined) showPrompt(terminal, target, result)
      showOutcome(terminal, report.outcome, report.callId)
    }
    return exitOfOutcome(report.outcome)
  } finally {
    await session.close()
  }
}

function showPrompt(terminal: Terminal, target: string, result: unknown): void {
  const { description, messages } = (result ?? {}) as {
    readonly description?: unknown
    readonly messages?: unknown
  }
  if (!Array.isArray(messages)) {
    terminal.line(visibleLines(JSON.stringify(result, undefined, 2)))
    return
  }
  if (typeof description === 'string') terminal.line(`# ${brief(description, 200)}`)
  for (const message of messages as readonly { role?: unknown; content?: unknown }[]) {
    terminal.line(`${visible(String(message.role))}, in the words of ${visible(target)}:`)
    const blocks = Array.isArray(message.content) ? message.content : [message.content]
    for (const block of blocks as readonly unknown[])
      terminal.line(visibleLines(sayPart(block), '  | '))
  }
}

/** An embedded resource is what it holds, under the address it gives itself. */
function sayPart(block: unknown): string {
  if (typeof block !== 'object' || block === null) return JSON.stringify(block)
  const { resource } = block as { readonly resource?: unknown }
  if (typeof resource !== 'object' || resource === null)
    return sayBlock(block as Record<string, unknown>)
  const { uri } = resource as { readonly uri?: unknown }
  return `${String(uri)}:\n${sayBlock(resource as Record<string, unknown>)}`
}

/** A prompt's arguments are text, whatever they look like. */
function argumentsOf(pairs: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(pairs.map((pair) => pairOf('--arg', pair)))
}
