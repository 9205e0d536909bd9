/**
 * The field table of A2A 1.0.1, made from the protocol definition (package lf.a2a.v1).
 *
 * One row a field: its JSON name, its other accepted name, its kind and how presence works. The
 * reader, the writer and the canonical form of cards all follow this table, so a rule about
 * presence exists once. The compiler holds its names equal to the interfaces beside it.
 */
import type { CardMessages } from './card-messages.ts'
import type { WireMessages } from './messages.ts'

/** Every object that can be read or written, by its name. */
export type Messages = WireMessages & CardMessages & OAuthFlowMessages
interface OAuthFlowMessages {
  readonly AuthorizationCodeOAuthFlow: object
  readonly ClientCredentialsOAuthFlow: object
  readonly ImplicitOAuthFlow: object
  readonly PasswordOAuthFlow: object
  readonly DeviceCodeOAuthFlow: object
}
/** The name of a message in the protocol definition. */
export type MessageName = keyof Messages

/** What a field holds. */
export type Kind =
  | 'string'
  | 'bool'
  | 'int32'
  | 'bytes'
  | 'timestamp'
  | 'struct'
  | 'value'
  | { readonly enum: 'TaskState' | 'Role' }
  | { readonly message: MessageName }

/**
 * - `implicit`: absent and default are the same thing; the default is not written.
 * - `optional`: what was set is kept, even to its default.
 * - `oneof`: member of a group of which at most one is set; presence is the discriminator.
 */
export type Presence = 'implicit' | 'optional' | 'oneof' | 'repeated' | 'map'

/** One row of the table. */
export interface Field {
  readonly json: string
  /** The snake_case name, equally accepted on input. @source A2A 1.0, 5.5 (ProtoJSON) */
  readonly alias: string
  readonly kind: Kind
  readonly presence: Presence
  /** REQUIRED in the definition: must arrive, is always written. */
  readonly required: boolean
}

/** All that is known of one message. */
export interface Shape {
  readonly fields: readonly Field[]
  /** How many members of the group must be set; absent when the message has no group. */
  readonly oneof?: 'exactly_one' | 'at_most_one'
  /** True where a 0.3 peer would write `kind`: seeing it means the other revision is spoken. */
  readonly refusesKind: boolean
}

type Draft = Omit<Field, 'json' | 'alias'>
type Keys<T> = T extends unknown ? keyof T : never
type Table = {
  [Name in MessageName]: { readonly [F in Extract<Keys<Messages[Name]>, string>]: Draft }
}

const implicit = (kind: Kind): Draft => ({ kind, presence: 'implicit', required: false })
const optional = (kind: Kind): Draft => ({ kind, presence: 'optional', required: false })
const required = (kind: Kind): Draft => ({ kind, presence: 'implicit', required: true })
const oneof = (kind: Kind): Draft => ({ kind, presence: 'oneof', required: false })
const repeated = (kind: Kind): Draft => ({ kind, presence: 'repeated', required: false })
const requiredList = (kind: Kind): Draft => ({ kind, presence: 'repeated', required: true })
const map = (kind: Kind): Draft => ({ kind, presence: 'map', required: false })
const requiredMap = (kind: Kind): Draft => ({ kind, presence: 'map', required: true })
/** Fields of message kind always track presence. */
const one = (message: MessageName): Draft => optional({ message })
const text = implicit('string')
const needed = required('string')
const metadata = optional('struct')

const TABLE = {
  Part: {
    text: oneof('string'),
    raw: oneof('bytes'),
    url: oneof('string'),
    data: oneof('value'),
    metadata,
    filename: text,
    mediaType: text,
  },
  Message: {
    messageId: needed,
    contextId: text,
    taskId: text,
    role: required({ enum: 'Role' }),
    parts: requiredList({ message: 'Part' }),
    metadata,
    extensions: repeated('string'),
    referenceTaskIds: repeated('string'),
  },
  TaskStatus: {
    state: required({ enum: 'TaskState' }),
    message: one('Message'),
    timestamp: optional('timestamp'),
  },
  Artifact: {
    artifactId: needed,
    name: text,
    description: text,
    parts: requiredList({ message: 'Part' }),
    metadata,
    extensions: repeated('string'),
  },
  Task: {
    id: needed,
    contextId: text,
    status: required({ message: 'TaskStatus' }),
    artifacts: repeated({ message: 'Artifact' }),
    history: repeated({ message: 'Message' }),
    metadata,
  },
  TaskStatusUpdateEvent: {
    taskId: needed,
    contextId: needed,
    status: required({ message: 'TaskStatus' }),
    metadata,
  },
  TaskArtifactUpdateEvent: {
    taskId: needed,
    contextId: needed,
    artifact: required({ message: 'Artifact' }),
    append: implicit('bool'),
    lastChunk: implicit('bool'),
    metadata,
  },
  SendMessageResponse: {
    task: oneof({ message: 'Task' }),
    message: oneof({ message: 'Message' }),
  },
  StreamResponse: {
    task: oneof({ message: 'Task' }),
    message: oneof({ message: 'Message' }),
    statusUpdate: oneof({ message: 'TaskStatusUpdateEvent' }),
    artifactUpdate: oneof({ message: 'TaskArtifactUpdateEvent' }),
  },
  AuthenticationInfo: { scheme: needed, credentials: text },
  TaskPushNotificationConfig: {
    tenant: text,
    id: text,
    taskId: text,
    url: needed,
    token: text,
    authentication: one('AuthenticationInfo'),
  },
  SendMessageConfiguration: {
    acceptedOutputModes: repeated('string'),
    taskPushNotificationConfig: one('TaskPushNotificationConfig'),
    historyLength: optional('int32'),
    returnImmediately: implicit('bool'),
  },
  SendMessageRequest: {
    tenant: text,
    message: required({ message: 'Message' }),
    configuration: one('SendMessageConfiguration'),
    metadata,
  },
  GetTaskRequest: { tenant: text, id: needed, historyLength: optional('int32') },
  ListTasksRequest: {
    tenant: text,
    contextId: text,
    status: implicit({ enum: 'TaskState' }),
    pageSize: optional('int32'),
    pageToken: text,
    historyLength: optional('int32'),
    statusTimestampAfter: optional('timestamp'),
    includeArtifacts: optional('bool'),
  },
  ListTasksResponse: {
    tasks: requiredList({ message: 'Task' }),
    nextPageToken: needed,
    pageSize: required('int32'),
    totalSize: required('int32'),
  },
  CancelTaskRequest: { tenant: text, id: needed, metadata },
  SubscribeToTaskRequest: { tenant: text, id: needed },
  AgentCard: {
    name: needed,
    description: needed,
    supportedInterfaces: requiredList({ message: 'AgentInterface' }),
    provider: one('AgentProvider'),
    version: needed,
    documentationUrl: optional('string'),
    capabilities: required({ message: 'AgentCapabilities' }),
    securitySchemes: map({ message: 'SecurityScheme' }),
    securityRequirements: repeated({ message: 'SecurityRequirement' }),
    defaultInputModes: requiredList('string'),
    defaultOutputModes: requiredList('string'),
    skills: requiredList({ message: 'AgentSkill' }),
    signatures: repeated({ message: 'AgentCardSignature' }),
    iconUrl: optional('string'),
  },
  AgentInterface: { url: needed, protocolBinding: needed, tenant: text, protocolVersion: needed },
  AgentProvider: { url: needed, organization: needed },
  AgentExtension: { uri: text, description: text, required: implicit('bool'), params: metadata },
  AgentCapabilities: {
    streaming: optional('bool'),
    pushNotifications: optional('bool'),
    extensions: repeated({ message: 'AgentExtension' }),
    extendedAgentCard: optional('bool'),
  },
  AgentSkill: {
    id: needed,
    name: needed,
    description: needed,
    tags: requiredList('string'),
    examples: repeated('string'),
    inputModes: repeated('string'),
    outputModes: repeated('string'),
    securityRequirements: repeated({ message: 'SecurityRequirement' }),
  },
  AgentCardSignature: { protected: needed, signature: needed, header: metadata },
  StringList: { list: repeated('string') },
  SecurityRequirement: { schemes: map({ message: 'StringList' }) },
  SecurityScheme: {
    apiKeySecurityScheme: oneof({ message: 'APIKeySecurityScheme' }),
    httpAuthSecurityScheme: oneof({ message: 'HTTPAuthSecurityScheme' }),
    oauth2SecurityScheme: oneof({ message: 'OAuth2SecurityScheme' }),
    openIdConnectSecurityScheme: oneof({ message: 'OpenIdConnectSecurityScheme' }),
    mtlsSecurityScheme: oneof({ message: 'MutualTlsSecurityScheme' }),
  },
  APIKeySecurityScheme: { description: text, location: needed, name: needed },
  HTTPAuthSecurityScheme: { description: text, scheme: needed, bearerFormat: text },
  OAuth2SecurityScheme: {
    description: text,
    flows: required({ message: 'OAuthFlows' }),
    oauth2MetadataUrl: text,
  },
  OpenIdConnectSecurityScheme: { description: text, openIdConnectUrl: needed },
  MutualTlsSecurityScheme: { description: text },
  OAuthFlows: {
    authorizationCode: oneof({ message: 'AuthorizationCodeOAuthFlow' }),
    clientCredentials: oneof({ message: 'ClientCredentialsOAuthFlow' }),
    implicit: oneof({ message: 'ImplicitOAuthFlow' }),
    password: oneof({ message: 'PasswordOAuthFlow' }),
    deviceCode: oneof({ message: 'DeviceCodeOAuthFlow' }),
  },
  AuthorizationCodeOAuthFlow: {
    authorizationUrl: needed,
    tokenUrl: needed,
    refreshUrl: text,
    scopes: requiredMap('string'),
    pkceRequired: implicit('bool'),
  },
  ClientCredentialsOAuthFlow: {
    tokenUrl: needed,
    refreshUrl: text,
    scopes: requiredMap('string'),
  },
  ImplicitOAuthFlow: { authorizationUrl: text, refreshUrl: text, scopes: map('string') },
  PasswordOAuthFlow: { tokenUrl: text, refreshUrl: text, scopes: map('string') },
  DeviceCodeOAuthFlow: {
    deviceAuthorizationUrl: needed,
    tokenUrl: needed,
    refreshUrl: text,
    scopes: requiredMap('string'),
  },
} as const satisfies Table

const ONEOFS: Partial<Record<MessageName, 'exactly_one' | 'at_most_one'>> = {
  Part: 'exactly_one',
  SendMessageResponse: 'exactly_one',
  StreamResponse: 'exactly_one',
  // A scheme or flow of a later revision shows no member we know; that must not spoil the card.
  SecurityScheme: 'at_most_one',
  OAuthFlows: 'at_most_one',
}

/** Where 0.3 put its `kind` discriminator. */
const KIND_BEARERS = new Set<string>([
  'Part',
  'Message',
  'Task',
  'TaskStatusUpdateEvent',
  'TaskArtifactUpdateEvent',
  'SendMessageResponse',
  'StreamResponse',
])

function shapeOf(name: MessageName, rows: Readonly<Record<string, Draft>>): Shape {
  const group = ONEOFS[name]
  return {
    fields: Object.entries(rows).map(([json, row]) => ({
      json,
      alias: json.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      ...row,
    })),
    refusesKind: KIND_BEARERS.has(name),
    ...(group === undefined ? {} : { oneof: group }),
  }
}

/** The table, by message name. */
export const SHAPES: Readonly<Record<MessageName, Shape>> = Object.fromEntries(
  Object.entries(TABLE).map(([name, rows]) => [name, shapeOf(name as MessageName, rows)]),
) as Record<MessageName, Shape>
