/**
 * What a person sees of the demo: numbered steps as they happen, and at the end the verdict in full.
 */
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { TaskReport } from 'comity'

/** Prints to standard output. */
export interface Printer {
  title(question: string, by: string): void
  step(title: string, lines: readonly string[]): void
  more(lines: readonly string[]): void
  /** @param report where the delivery was saved; undefined when it was not. */
  verdict(task: TaskReport, report: string | undefined): void
  /** A command that anybody can repeat; its own output follows. */
  command(line: string): void
  /** The last line. */
  end(task: TaskReport, report: string | undefined): void
}

export function createPrinter(): Printer {
  let count = 0
  const more = (lines: readonly string[]): void => {
    for (const line of lines) console.log(`    ${oneLine(line)}`)
  }
  return {
    more,
    title(question, by) {
      console.log(`${question}\n${by}\n`)
    },
    step(title, lines) {
      count += 1
      console.log(`${String(count).padStart(2)}  ${oneLine(title)}`)
      more(lines)
    },
    verdict(task, report) {
      const { word, because, points } = sayVerdict(task)
      console.log(`\n${word}: ${because}`)
      for (const point of points) console.log(`  - ${oneLine(point)}`)
      if (report !== undefined) {
        console.log('\nWhat the report says')
        for (const line of summaryOf(readFileSync(report, 'utf8'))) console.log(`  ${line}`)
        console.log(`\nThe report: ${here(report)}`)
      }
    },
    command(line) {
      console.log(`\n$ ${line}\n`)
    },
    end(task, report) {
      const { word } = sayVerdict(task)
      const where = report === undefined ? 'nothing was saved' : here(report)
      console.log(`\n${word} · task ${task.taskId} · ${where}`)
    },
  }
}

interface SaidVerdict {
  readonly word: string
  readonly because: string
  readonly points: readonly string[]
}

function sayVerdict({ state, verdict, theirWords }: TaskReport): SaidVerdict {
  if (state !== 'completed') {
    return { word: 'NOT DONE', because: `the task is ${state}`, points: [theirWords ?? ''] }
  }
  switch (verdict.state) {
    case 'accepted':
      return {
        word: 'ACCEPTED',
        because: 'the agent says completed, and the delivery is accepted because',
        points: verdict.checks,
      }
    case 'refused':
      return {
        word: 'REFUSED',
        because: 'the agent says completed, and the delivery is not accepted because',
        points: verdict.reasons,
      }
    case 'not_judged':
    case 'pending':
      return {
        word: 'NOT JUDGED',
        because:
          'the agent says completed, and no criteria were given: nobody has checked this delivery',
        points: ['it is not accepted; whether it is true is unknown'],
      }
  }
}

/** The report's own summary, without its markers. */
function summaryOf(report: string): readonly string[] {
  const section = /^## Summary\n([\s\S]*?)^## /mu.exec(report)?.[1] ?? ''
  return section
    .split('\n')
    .filter((line) => line.startsWith('- '))
    .map((line) => line.replace(/(?: \[c\d+\])+$/u, '').replaceAll('**', ''))
}

/** Words of others on one line, with nothing in them that a terminal would obey. */
function oneLine(text: string): string {
  return text.replaceAll(/[\n\t\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').trimEnd()
}

function here(path: string): string {
  return relative(process.cwd(), path)
}
