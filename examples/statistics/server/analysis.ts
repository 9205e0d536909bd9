/**
 * The analysis: a step a month over a real SQLite file, a question in the middle, and a result. Each step is on disk before the
 * next begins, so a server that is killed goes on from the last one; cancel is heeded between two steps and takes none back.
 */
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'
import type { Month, Task, TaskStore } from './store.ts'

/** How far from its month's mean a value is an outlier, in standard deviations. */
const FAR = 4
export const KEEP = 'keep'
export const DROP = 'drop'

export class Analysis {
  readonly #data: DatabaseSync
  readonly #store: TaskStore
  readonly #stepMs: number
  readonly #months: readonly string[]
  readonly #running = new Set<string>()
  readonly #canceled = new Set<string>()

  /** @param stepMs between two steps; forty of 15 s are ten minutes. */
  constructor(dataFile: string, store: TaskStore, stepMs: number) {
    this.#data = new DatabaseSync(dataFile, { readOnly: true })
    this.#store = store
    this.#stepMs = stepMs
    const rows = this.#data.prepare('SELECT DISTINCT month FROM measurements ORDER BY month').all()
    this.#months = rows.map(({ month }) => String(month))
    for (const task of store.unfinished()) this.goOn(task.id)
  }

  begin(): Task {
    const task = this.#store.create()
    this.goOn(task.id)
    return task
  }

  goOn(id: string): void {
    if (this.#running.has(id)) return
    this.#running.add(id)
    void this.#run(id)
      .catch((error: unknown) => this.#store.move(id, 'failed', String(error)))
      .finally(() => this.#running.delete(id))
  }

  cancel(id: string): void {
    this.#canceled.add(id)
    // Nothing runs while it waits for an answer.
    if (!this.#running.has(id)) this.#end(id)
  }

  /** What it asks, once: what to do with values that are far off. */
  question(id: string): { readonly message: string } {
    const outliers = this.#store.months(id).reduce((sum, month) => sum + month.outliers, 0)
    const message = `So far ${outliers} values are more than ${FAR} standard deviations from their month's mean. Keep them, or drop them?`
    return { message }
  }

  async #run(id: string): Promise<void> {
    for (;;) {
      const task = this.#store.find(id)
      if (task?.status !== 'working') return
      if (this.#canceled.has(id)) return this.#end(id)
      const month = this.#months[task.step]
      if (month === undefined) return this.#finish(task)
      if (task.answer === null && task.step === Math.floor(this.#months.length / 2))
        return this.#store.move(id, 'input_required', 'half way: how are outliers to be treated?')
      const message = `step ${task.step + 1} of ${this.#months.length}: ${month}`
      this.#store.finishStep(id, this.#read(month), message)
      await wait(this.#stepMs)
    }
  }

  #end(id: string): void {
    const done = this.#store.find(id)?.step ?? 0
    const message = `canceled after ${done} steps; what they wrote stays`
    this.#store.move(id, 'cancelled', message)
  }

  /** One pass, by Welford: nothing but the present value is held. */
  #read(month: string): Month {
    const values = this.#data.prepare('SELECT value FROM measurements WHERE month = ?')
    let count = 0
    let mean = 0
    let squares = 0
    for (const { value } of values.iterate(month)) {
      count += 1
      const before = Number(value) - mean
      mean += before / count
      squares += before * (Number(value) - mean)
    }
    const deviation = count < 2 ? 0 : Math.sqrt(squares / (count - 1))
    const far = this.#data.prepare(
      'SELECT count(*) AS far FROM measurements WHERE month = ? AND abs(value - ?) > ?',
    )
    const outliers = Number(far.get(month, mean, FAR * deviation)?.['far'] ?? 0)
    return { month, count, mean, deviation, outliers }
  }

  #finish({ id, answer }: Task): void {
    const months = this.#store.months(id)
    const outliers = months.reduce((sum, { outliers: far }) => sum + far, 0)
    const total = months.reduce((sum, { count }) => sum + count, 0)
    const dropped = answer === DROP ? outliers : 0
    const structuredContent = {
      measurements: total,
      outliers,
      treatment: answer,
      used: total - dropped,
      mean: round(months.reduce((sum, { mean, count }) => sum + mean * count, 0) / total),
      median: round(this.#quantile(0.5, total)),
      p95: round(this.#quantile(0.95, total)),
      months: months.length,
    }
    const text = `${total} measurements in ${months.length} months: mean ${structuredContent.mean}, median ${structuredContent.median}, 95 % below ${structuredContent.p95}; ${outliers} outliers, ${answer === DROP ? 'dropped' : 'kept'}`
    const result = { resultType: 'complete', content: [{ type: 'text', text }], structuredContent }
    this.#store.move(id, 'completed', 'done', JSON.stringify(result))
  }

  #quantile(share: number, total: number): number {
    const at = Math.min(total - 1, Math.floor(share * total))
    const row = this.#data
      .prepare('SELECT value FROM measurements ORDER BY value LIMIT 1 OFFSET ?')
      .get(at)
    return Number(row?.['value'] ?? Number.NaN)
  }
}

function round(value: number): number {
  return Number(value.toFixed(3))
}
