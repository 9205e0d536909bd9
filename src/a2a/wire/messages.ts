/**
 * The objects of A2A 1.0 as plain readonly values, in their JSON names.
 *
 * Presence is kept: a member that did not arrive is absent, one that arrived empty is there. The
 * names of the members are checked by the compiler against the field table in fields.ts.
 * What is not named here (unknown members) stays only in the raw value beside it (codec.ts).
 */
import type { RoleName, TaskStateName } from './rev-1-0.ts'

/** A JSON object whose members mean something only to the two ends. */
export type Struct = { readonly [name: string]: unknown }

interface PartCommon {
  readonly metadata?: Struct
  readonly filename?: string
  readonly mediaType?: string
}
/** Text; the empty text is content too. */
export interface TextPart extends PartCommon {
  readonly text: string
}
/** Bytes, still in base64 (standard or URL alphabet, padding optional). */
export interface RawPart extends PartCommon {
  readonly raw: string
}
/** A reference to bytes elsewhere. Never fetched by the reader. */
export interface UrlPart extends PartCommon {
  readonly url: string
}
/** Any JSON value, `null` included: test with `'data' in part`, never by truth. */
export interface DataPart extends PartCommon {
  readonly data: unknown
}
/** Exactly one content member; the member's name is the discriminator. @source A2A 1.0, 4.1.6 */
export type Part = TextPart | RawPart | UrlPart | DataPart

/** One unit of communication. @source A2A 1.0, 4.1.4 */
export interface Message {
  readonly messageId: string
  readonly contextId?: string
  readonly taskId?: string
  readonly role: RoleName
  readonly parts: readonly Part[]
  readonly metadata?: Struct
  readonly extensions?: readonly string[]
  readonly referenceTaskIds?: readonly string[]
}
/** Where a task stands, with what the agent says about it. */
export interface TaskStatus {
  readonly state: TaskStateName
  readonly message?: Message
  readonly timestamp?: string
}
/** One output of a task; `artifactId` is unique within the task. */
export interface Artifact {
  readonly artifactId: string
  readonly name?: string
  readonly description?: string
  readonly parts: readonly Part[]
  readonly metadata?: Struct
  readonly extensions?: readonly string[]
}
/** Work that outlives a request. `contextId` is not REQUIRED on a task. @source A2A 1.0, 4.1.1 */
export interface Task {
  readonly id: string
  readonly contextId?: string
  readonly status: TaskStatus
  readonly artifacts?: readonly Artifact[]
  readonly history?: readonly Message[]
  readonly metadata?: Struct
}
/** A task's status changed. 1.0 has no `final`. */
export interface TaskStatusUpdateEvent {
  readonly taskId: string
  readonly contextId: string
  readonly status: TaskStatus
  readonly metadata?: Struct
}
/** An artifact, or a chunk of one. */
export interface TaskArtifactUpdateEvent {
  readonly taskId: string
  readonly contextId: string
  readonly artifact: Artifact
  readonly append?: boolean
  readonly lastChunk?: boolean
  readonly metadata?: Struct
}
/** The answer to a send: by the agent's contract, not by how long it took. */
export type SendMessageResponse = { readonly task: Task } | { readonly message: Message }
/** One event of a stream. */
export type StreamResponse =
  | { readonly task: Task }
  | { readonly message: Message }
  | { readonly statusUpdate: TaskStatusUpdateEvent }
  | { readonly artifactUpdate: TaskArtifactUpdateEvent }

/** Credentials the agent presents to a webhook. */
export interface AuthenticationInfo {
  readonly scheme: string
  readonly credentials?: string
}
/** Where to push the news of one task. */
export interface TaskPushNotificationConfig {
  readonly tenant?: string
  readonly id?: string
  readonly taskId?: string
  readonly url: string
  readonly token?: string
  readonly authentication?: AuthenticationInfo
}
/** How a send is to be served. `returnImmediately` unset means: wait until terminal or interrupted. */
export interface SendMessageConfiguration {
  readonly acceptedOutputModes?: readonly string[]
  readonly taskPushNotificationConfig?: TaskPushNotificationConfig
  readonly historyLength?: number
  readonly returnImmediately?: boolean
}
/** Parameters of SendMessage and SendStreamingMessage. */
export interface SendMessageRequest {
  readonly tenant?: string
  readonly message: Message
  readonly configuration?: SendMessageConfiguration
  readonly metadata?: Struct
}
/** Parameters of GetTask. `historyLength` unset: the server's default; 0: none. */
export interface GetTaskRequest {
  readonly tenant?: string
  readonly id: string
  readonly historyLength?: number
}
/** Parameters of ListTasks. `pageSize` 1 to 100, default 50; `statusTimestampAfter` is inclusive. */
export interface ListTasksRequest {
  readonly tenant?: string
  readonly contextId?: string
  readonly status?: TaskStateName
  readonly pageSize?: number
  readonly pageToken?: string
  readonly historyLength?: number
  readonly statusTimestampAfter?: string
  readonly includeArtifacts?: boolean
}
/** All four members are always present. @source A2A 1.0, 3.1.4 */
export interface ListTasksResponse {
  readonly tasks: readonly Task[]
  readonly nextPageToken: string
  readonly pageSize: number
  readonly totalSize: number
}
/** Parameters of CancelTask. */
export interface CancelTaskRequest {
  readonly tenant?: string
  readonly id: string
  readonly metadata?: Struct
}
/** Parameters of SubscribeToTask. */
export interface SubscribeToTaskRequest {
  readonly tenant?: string
  readonly id: string
}

/** What may go in a request or a reply, by its name in the protocol definition. */
export interface WireMessages {
  readonly Part: Part
  readonly Message: Message
  readonly TaskStatus: TaskStatus
  readonly Artifact: Artifact
  readonly Task: Task
  readonly TaskStatusUpdateEvent: TaskStatusUpdateEvent
  readonly TaskArtifactUpdateEvent: TaskArtifactUpdateEvent
  readonly SendMessageResponse: SendMessageResponse
  readonly StreamResponse: StreamResponse
  readonly AuthenticationInfo: AuthenticationInfo
  readonly TaskPushNotificationConfig: TaskPushNotificationConfig
  readonly SendMessageConfiguration: SendMessageConfiguration
  readonly SendMessageRequest: SendMessageRequest
  readonly GetTaskRequest: GetTaskRequest
  readonly ListTasksRequest: ListTasksRequest
  readonly ListTasksResponse: ListTasksResponse
  readonly CancelTaskRequest: CancelTaskRequest
  readonly SubscribeToTaskRequest: SubscribeToTaskRequest
}
