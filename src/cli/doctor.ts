/** `comity doctor`: looks at everything that may keep comity from working, one line each, with what to do. */
import { examine, type Finding } from '../gateway/admin/doctor.ts'
import { ComityError } from '../gateway/admin/errors.ts'
import { configFileOf } from './config-file.ts'
import { EXIT } from './exit-codes.ts'
import type { CommonOptions } from './main.ts'
import { controlSocketOf } from './session.ts'
import { type Terminal, visible } from './terminal.ts'

const SIGNS = { ok: '✓', note: '!', problem: '✗' } as const

export async function doctor(options: CommonOptions, terminal: Terminal): Promise<number> {
  const findings = await look(options.config)
  const problems = findings.filter(({ state }) => state === 'problem').length
  if (terminal.json) terminal.answer({ sound: problems === 0, findings })
  else {
    for (const finding of findings) show(terminal, finding)
    const notes = findings.filter(({ state }) => state === 'note').length
    terminal.line(
      problems === 0
        ? `\nnothing is wrong${notes === 0 ? '' : `; ${notes} thing${notes === 1 ? '' : 's'} to know (!)`}`
        : `\n${problems} problem${problems === 1 ? '' : 's'} (✗)`,
    )
  }
  return problems === 0 ? EXIT.done : EXIT.failed
}

async function look(flag: string | undefined): Promise<readonly Finding[]> {
  try {
    return await examine({
      configFile: configFileOf(flag),
      socketOf: controlSocketOf,
      environment: process.env,
      userId: process.getuid?.() ?? 0,
      now: Date.now(),
    })
  } catch (error) {
    if (!(error instanceof ComityError)) throw error
    return [{ about: 'config', state: 'problem', text: error.message }]
  }
}

function show(terminal: Terminal, { about, state, text, todo }: Finding): void {
  const [first = '', ...rest] = text.split('\n')
  terminal.line(`${SIGNS[state]} ${visible(about)}: ${visible(first)}`)
  for (const line of rest) terminal.line(`  ${visible(line)}`)
  if (todo !== undefined) terminal.line(`    ${visible(todo)}`)
}
