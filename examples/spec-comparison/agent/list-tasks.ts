/**
 * ListTasks: filter, newest first, in pages.
 *
 * A page token holds the place itself (time and id), not a row to look up: the row may have moved
 * by the next page, and the SDK's in-memory store then ends the list early.
 */
import { TaskState, type ListTasksRequest, type ListTasksResponse, type Task } from '@a2a-js/sdk'
import { RequestMalformedError } from '@a2a-js/sdk/errors'

const DEFAULT_PAGE = 50
const MAX_PAGE = 100

/** One page of these tasks. @throws RequestMalformedError on a bad page size, token or time. */
export function listTasks(tasks: readonly Task[], request: ListTasksRequest): ListTasksResponse {
  const pageSize = request.pageSize ?? DEFAULT_PAGE
  if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > MAX_PAGE) {
    throw new RequestMalformedError(`pageSize must be 1 to ${MAX_PAGE}`)
  }
  const after = parseTime(request.statusTimestampAfter)
  const matching = tasks
    .filter((task) => request.contextId === '' || task.contextId === request.contextId)
    .filter(
      ({ status }) =>
        request.status === TaskState.TASK_STATE_UNSPECIFIED || status?.state === request.status,
    )
    .filter((task) => after === undefined || Date.parse(timeOf(task)) >= after)
    .sort((one, other) => (placeOf(one) < placeOf(other) ? 1 : -1))
  const place = parseToken(request.pageToken)
  const rest = place === undefined ? matching : matching.filter((task) => placeOf(task) < place)
  const page = rest.slice(0, pageSize)
  const last = page.at(-1)
  return {
    tasks: page.map((task) => trimTask(task, request)),
    nextPageToken:
      last === undefined || rest.length <= pageSize
        ? ''
        : Buffer.from(placeOf(last)).toString('base64url'),
    pageSize,
    totalSize: matching.length,
  }
}

function trimTask(task: Task, request: ListTasksRequest): Task {
  const { historyLength, includeArtifacts } = request
  const history = historyLength === undefined ? task.history : task.history.slice(-historyLength)
  return structuredClone({
    ...task,
    artifacts: includeArtifacts === true ? task.artifacts : [],
    history: historyLength === 0 ? [] : history,
  })
}

function timeOf(task: Task): string {
  return task.status?.timestamp ?? ''
}

/** Our timestamps all have one form, so their order as text is their order in time. */
function placeOf(task: Task): string {
  return `${timeOf(task)} ${task.id}`
}

function parseToken(token: string): string | undefined {
  if (token === '') return undefined
  const place = Buffer.from(token, 'base64url').toString('utf8')
  if (!/^\d{4}-\S+ [0-9a-f-]{36}$/.test(place)) {
    throw new RequestMalformedError('pageToken is not one that this agent gave')
  }
  return place
}

function parseTime(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined
  const time = Date.parse(text)
  if (Number.isNaN(time)) throw new RequestMalformedError('statusTimestampAfter is no timestamp')
  return time
}
