/** Whatever breaks in between: a caller that comes back with its last event id misses nothing and gets nothing twice. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EventStream, type EventSink } from './event-stream.ts'
import { createReplayBudget } from './replay-budget.ts'

/** A connection that loses what was sent to it, once it is cut, as a socket does. */
class Connection implements EventSink {
  readonly #gone = new AbortController()
  readonly closed = this.#gone.signal
  readonly frames: string[] = []
  ended = false
  #taking: PromiseWithResolvers<void> | undefined
  isSlow = false

  send(event: Uint8Array): Promise<void> | undefined {
    this.frames.push(new TextDecoder().decode(event))
    if (!this.isSlow) return undefined
    this.#taking = Promise.withResolvers<void>()
    return this.#taking.promise
  }

  end(): void {
    this.ended = true
  }

  take(): void {
    this.isSlow = false
    this.#taking?.resolve()
  }

  cut(): void {
    this.#gone.abort()
    this.take()
  }
}

const idOf = (frame: string): string => /^id: (\S+)/.exec(frame)?.[1] ?? ''
const numberOf = (id: string): number => Number(/\.(\d+)/.exec(id)?.[1])
const dataOf = (frame: string): string => /\ndata: (.*)\n/.exec(frame)?.[1] ?? ''

type Step =
  | { readonly do: 'push' }
  | { readonly do: 'slow' }
  | { readonly do: 'take' }
  /** The last so many events of the present connection never arrive. */
  | { readonly do: 'lose'; readonly last: number }

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.constant<Step>({ do: 'push' }) },
    fc.constant<Step>({ do: 'slow' }),
    fc.constant<Step>({ do: 'take' }),
    fc.nat(4).map((last): Step => ({ do: 'lose', last })),
  ),
  { maxLength: 60 },
)

test('every message arrives once and in order, over however many connections', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (plan) => {
      const stream = new EventStream({
        id: 's',
        suffix: '',
        budget: createReplayBudget(1_000_000, 1000),
        lostResult: () => new Uint8Array(0),
      })
      const arrived: string[] = []
      let pushed = 0
      let lastId = ''
      let present = new Connection()
      stream.attach(present)
      const keep = (count: number): void => {
        for (const frame of present.frames.slice(0, count)) {
          arrived.push(dataOf(frame))
          lastId = idOf(frame)
        }
      }
      const comeBack = (lost: number): void => {
        keep(Math.max(0, present.frames.length - lost))
        present.cut()
        present = new Connection()
        stream.attach(present, lastId === '' ? 0 : numberOf(lastId))
      }
      const push = (): void => {
        pushed += 1
        void stream.push(new TextEncoder().encode(`{"n":${pushed}}`))
      }
      for (const step of plan) {
        if (step.do === 'push') push()
        else if (step.do === 'slow') present.isSlow = true
        else if (step.do === 'take') present.take()
        else comeBack(step.last)
        await Promise.resolve()
      }
      comeBack(0)
      stream.finish(new TextEncoder().encode('"last"'))
      keep(present.frames.length)

      const all = Array.from({ length: pushed }, (_none, index) => `{"n":${index + 1}}`)
      expect(arrived).toEqual([...all, '"last"'])
      expect(present.ended).toBe(true)
    }),
    { numRuns: 500 },
  )
})
