/**
 * The agent card of A2A 1.0 as plain readonly values, in their JSON names.
 *
 * A card is a claim by its publisher. What is required of it, and which interface is taken, is
 * card.ts's decision, not this file's.
 */
import type { Struct } from './messages.ts'

/** One address at which the agent speaks one binding in one protocol version. */
export interface AgentInterface {
  readonly url: string
  readonly protocolBinding: string
  readonly tenant?: string
  readonly protocolVersion: string
}
/** Who runs the agent, by its own account. */
export interface AgentProvider {
  readonly url: string
  readonly organization: string
}
/** An extension the agent speaks; `required` means it insists on it. */
export interface AgentExtension {
  readonly uri?: string
  readonly description?: string
  readonly required?: boolean
  readonly params?: Struct
}
/** What is not declared here is not used. */
export interface AgentCapabilities {
  readonly streaming?: boolean
  readonly pushNotifications?: boolean
  readonly extensions?: readonly AgentExtension[]
  readonly extendedAgentCard?: boolean
}
/** Scopes. */
export interface StringList {
  readonly list?: readonly string[]
}
/** All schemes of one requirement are needed; one requirement of the list is enough. */
export interface SecurityRequirement {
  readonly schemes?: { readonly [scheme: string]: StringList }
}
/** One thing the agent says it does. Not a local skill package. */
export interface AgentSkill {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly tags: readonly string[]
  readonly examples?: readonly string[]
  readonly inputModes?: readonly string[]
  readonly outputModes?: readonly string[]
  readonly securityRequirements?: readonly SecurityRequirement[]
}
/** A flattened JWS over the card without its signatures. */
export interface AgentCardSignature {
  readonly protected: string
  readonly signature: string
  readonly header?: Struct
}
/** A key in a header, a query parameter or a cookie. */
export interface ApiKeySecurityScheme {
  readonly description?: string
  readonly location: string
  readonly name: string
}
/** A scheme of the Authorization header. */
export interface HttpAuthSecurityScheme {
  readonly description?: string
  readonly scheme: string
  readonly bearerFormat?: string
}
/** Members shared by every OAuth flow; which are required depends on the flow. */
export interface OAuthFlow {
  readonly authorizationUrl?: string
  readonly deviceAuthorizationUrl?: string
  readonly tokenUrl?: string
  readonly refreshUrl?: string
  readonly scopes?: { readonly [scope: string]: string }
  readonly pkceRequired?: boolean
}
/** At most one flow a scheme. */
export interface OAuthFlows {
  readonly authorizationCode?: OAuthFlow
  readonly clientCredentials?: OAuthFlow
  readonly implicit?: OAuthFlow
  readonly password?: OAuthFlow
  readonly deviceCode?: OAuthFlow
}
/** OAuth 2.0, one flow. */
export interface OAuth2SecurityScheme {
  readonly description?: string
  readonly flows: OAuthFlows
  readonly oauth2MetadataUrl?: string
}
/** OpenID Connect, by its discovery document. */
export interface OpenIdConnectSecurityScheme {
  readonly description?: string
  readonly openIdConnectUrl: string
}
/** A client certificate. */
export interface MutualTlsSecurityScheme {
  readonly description?: string
}
/** At most one member; none means a kind of scheme that this revision does not know. */
export interface SecurityScheme {
  readonly apiKeySecurityScheme?: ApiKeySecurityScheme
  readonly httpAuthSecurityScheme?: HttpAuthSecurityScheme
  readonly oauth2SecurityScheme?: OAuth2SecurityScheme
  readonly openIdConnectSecurityScheme?: OpenIdConnectSecurityScheme
  readonly mtlsSecurityScheme?: MutualTlsSecurityScheme
}
/** Who the agent is, what it does, how it is reached and how one authenticates. @source A2A 1.0, 4.4.1 */
export interface AgentCard {
  readonly name: string
  readonly description: string
  readonly supportedInterfaces: readonly AgentInterface[]
  readonly provider?: AgentProvider
  readonly version: string
  readonly documentationUrl?: string
  readonly capabilities: AgentCapabilities
  readonly securitySchemes?: { readonly [name: string]: SecurityScheme }
  readonly securityRequirements?: readonly SecurityRequirement[]
  readonly defaultInputModes: readonly string[]
  readonly defaultOutputModes: readonly string[]
  readonly skills: readonly AgentSkill[]
  readonly signatures?: readonly AgentCardSignature[]
  readonly iconUrl?: string
}

/** The card and what it is made of, by its name in the protocol definition. */
export interface CardMessages {
  readonly AgentCard: AgentCard
  readonly AgentInterface: AgentInterface
  readonly AgentProvider: AgentProvider
  readonly AgentExtension: AgentExtension
  readonly AgentCapabilities: AgentCapabilities
  readonly AgentSkill: AgentSkill
  readonly AgentCardSignature: AgentCardSignature
  readonly StringList: StringList
  readonly SecurityRequirement: SecurityRequirement
  readonly SecurityScheme: SecurityScheme
  readonly APIKeySecurityScheme: ApiKeySecurityScheme
  readonly HTTPAuthSecurityScheme: HttpAuthSecurityScheme
  readonly OAuth2SecurityScheme: OAuth2SecurityScheme
  readonly OpenIdConnectSecurityScheme: OpenIdConnectSecurityScheme
  readonly MutualTlsSecurityScheme: MutualTlsSecurityScheme
  readonly OAuthFlows: OAuthFlows
}
