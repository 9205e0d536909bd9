/** The library door. What is not exported here may change without notice. */
export { type CreateHostOptions, type CreatedHost, createHost } from './gateway/create-host.ts'
export type { HostJudge } from './gateway/compose/judge.ts'
export type {
  CallInput,
  CallReport,
  DelegateInput,
  DelegateReport,
  ExplainReport,
  Live,
  LiveEvent,
  Operator,
  OutcomeReport,
  TaskReport,
} from './gateway/admin/operator.ts'
export { ComityError, type ComityErrorCode } from './core/words/errors.ts'
export type { Artifact } from './core/words/artifact.ts'
export type { TaskRecord } from './core/words/task.ts'
