import { Dispatcher } from 'undici'
import { expect, test } from 'vitest'
import { encodeJson } from '../wire/spans.ts'
import { createHttpLink } from './http.ts'

/** A client that has its connection at hand: it begins while it is still being asked to. */
class AtOnce extends Dispatcher {
  /** Why its request was given up. */
  readonly givenUp: unknown[] = []

  override dispatch(
    _options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): boolean {
    const controller = {
      aborted: false,
      paused: false,
      reason: null,
      abort: (reason: Error) => void this.givenUp.push(reason),
      pause: () => undefined,
      resume: () => undefined,
    }
    handler.onRequestStart?.(controller, undefined)
    return true
  }
}

test('a request that is canceled while it is told to leave is given up', async () => {
  const dispatcher = new AtOnce()
  const link = createHttpLink({ url: 'http://127.0.0.1/', headers: {} }, () => undefined, {
    dispatcher,
  })
  const canceled = new AbortController()
  const asked = link.request({
    id: link.nextId(),
    method: 'tools/call',
    params: encodeJson({ name: 'pay' }),
    followRedirect: false,
    signal: canceled.signal,
    onSend: () => canceled.abort(),
  })

  await expect(asked).rejects.toMatchObject({ reason: 'aborted' })
  expect(dispatcher.givenUp).toEqual([expect.objectContaining({ reason: 'aborted' })])
})
