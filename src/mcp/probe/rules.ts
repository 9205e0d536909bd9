/**
 * The rules that a probed server is held to, as one table: where each stands, how much it weighs, and the way out.
 *
 * `error`: the specification says MUST, or clients of it cannot use what is there. `warning`: SHOULD, or some clients will not.
 * `advice`: it works, and will not for ever or not everywhere. What is sent to find out is each check's own matter.
 */

export type Severity = 'error' | 'warning' | 'advice'

/** One rule. */
export interface Rule {
  readonly severity: Severity
  /** Document, version and section. */
  readonly section: string
  /** What is wrong, in one line. */
  readonly broken: string
  readonly wayOut: string
}

const NEW = 'MCP 2026-07-28'
const OLD = 'MCP 2025-11-25'
const HTTP = `${NEW}, transports, Streamable HTTP`

/** All of them, by id. */
export const RULES = {
  'discover.missing': rule(
    'error',
    `${NEW}, server/discover`,
    'it serves requests of 2026-07-28 and does not answer server/discover',
    'implement server/discover: supportedVersions, capabilities, ttlMs and cacheScope',
  ),
  'discover.versions': rule(
    'error',
    `${NEW}, server/discover`,
    'supportedVersions is no list of revisions that names the one it was asked in',
    'list every revision that is served, newest first, those of initialize too',
  ),
  'discover.capabilities': rule(
    'error',
    `${NEW}, server/discover`,
    'the answer has no capabilities object',
    'answer with capabilities, {} where there are none',
  ),
  'discover.server-info': rule(
    'advice',
    `${NEW}, basic, _meta`,
    'results do not say who answers',
    'put io.modelcontextprotocol/serverInfo with name and version into _meta of every result',
  ),
  'result.type-missing': rule(
    'error',
    `${NEW}, basic, results`,
    'a result has no resultType',
    'add resultType: "complete" to every complete result, empty ones too',
  ),
  'result.type-unknown': rule(
    'error',
    `${NEW}, basic, results`,
    'a result has a resultType that does not belong there',
    'answer lists and server/discover with resultType: "complete"',
  ),
  'cache.hints': rule(
    'error',
    `${NEW}, server, caching`,
    'ttlMs or cacheScope is missing or not sound',
    'add ttlMs (a whole number from 0 on) and cacheScope ("public" or "private") to discover and all lists',
  ),
  'cache.scope-differs': rule(
    'error',
    `${NEW}, server, caching`,
    'the pages of one list differ in cacheScope',
    'give all pages of a list the same cacheScope',
  ),
  'rpc.envelope': rule(
    'error',
    `${NEW}, basic, messages; JSON-RPC 2.0, 5`,
    'an answer is no JSON-RPC message for the request',
    'answer with jsonrpc "2.0", the id as it came, and exactly one of result and error',
  ),
  'rpc.error-id': rule(
    'error',
    `${NEW}, basic, messages`,
    'an error does not repeat the id of its request',
    'echo the id wherever it could be read',
  ),
  'method.unknown': rule(
    'error',
    `${NEW}, basic, error codes; JSON-RPC 2.0, 5.1`,
    'a method that does not exist is not refused with -32601',
    'answer unknown methods with error -32601',
  ),
  'method.unknown-status': rule(
    'error',
    `${HTTP}, error codes`,
    'an unknown method is not answered with HTTP 404',
    'send 404 with the error -32601 in the body',
  ),
  'method.removed': rule(
    'error',
    `${NEW}, changes, removed methods`,
    'a method that 2026-07-28 removed (ping) is still served to requests of that revision',
    'choose the era by _meta, never by the method: ping with _meta of 2026-07-28 is -32601',
  ),
  'method.not-advertised': rule(
    'error',
    `${NEW}, basic, error codes`,
    'a method behind a capability that is not advertised is served',
    'advertise the capability, or answer its methods with -32601',
  ),
  'version.unknown': rule(
    'error',
    `${NEW}, basic, versioning`,
    'a revision that nobody speaks is not refused with -32022',
    'answer with -32022 and data { supported, requested }',
  ),
  'version.unknown-status': rule(
    'error',
    `${HTTP}, error codes`,
    'an unsupported revision is not answered with HTTP 400',
    'send 400 with the error -32022 in the body',
  ),
  'version.carried': rule(
    'warning',
    `${NEW}, basic, statelessness`,
    'a request in a revision that nobody speaks is served, since an earlier one on the connection was sound',
    'look at _meta of every request: each stands alone',
  ),
  'meta.missing': rule(
    'error',
    `${NEW}, basic, _meta`,
    'a request without the required _meta is served',
    'refuse it with -32602 and HTTP 400: protocolVersion and clientCapabilities are required',
  ),
  'meta.client-info-demanded': rule(
    'error',
    `${NEW}, basic, _meta`,
    'a request without clientInfo is refused',
    'clientInfo is optional: serve requests that have none',
  ),
  'header.method-mismatch': rule(
    'error',
    `${HTTP}, header validation`,
    'an Mcp-Method that says another method than the body is not refused',
    'compare Mcp-Method with the body; answer 400 and -32020 where they differ',
  ),
  'header.name-mismatch': rule(
    'error',
    `${HTTP}, header validation`,
    'an Mcp-Name that says another name than the body is not refused',
    'compare Mcp-Name with params.name or params.uri, decoded; answer 400 and -32020 where they differ',
  ),
  'header.version-mismatch': rule(
    'error',
    `${HTTP}, header validation`,
    'an MCP-Protocol-Version that says another revision than the body is not refused',
    'compare it with _meta protocolVersion; answer 400 and -32020 where they differ',
  ),
  'header.missing': rule(
    'error',
    `${HTTP}, header validation`,
    'a request without Mcp-Method is not refused',
    'answer 400 and -32020 where a required header is missing',
  ),
  'tool.unknown': rule(
    'error',
    `${NEW}, server, tools, error handling`,
    'a tool that does not exist is called as if it did',
    'answer unknown tools with error -32602',
  ),
  'tool.unknown-form': rule(
    'warning',
    `${NEW}, server, tools, error handling`,
    'an unknown tool is not refused with the JSON-RPC error -32602',
    'answer with error -32602: a result with isError tells a model to try again',
  ),
  'prompt.unknown': rule(
    'error',
    `${NEW}, server, prompts, error handling`,
    'a prompt that does not exist is not refused with -32602',
    'answer unknown prompts with error -32602',
  ),
  'resource.unknown': rule(
    'error',
    `${NEW}, server, resources, error handling`,
    'a resource that does not exist is not refused as it should be',
    'answer with error -32602 (-32002 in the session revisions), never with empty contents',
  ),
  'listen.refused': rule(
    'error',
    `${NEW}, subscriptions`,
    'it advertises news of changes and does not serve subscriptions/listen',
    'serve subscriptions/listen, or advertise neither listChanged nor subscribe',
  ),
  'listen.acknowledged': rule(
    'error',
    `${NEW}, subscriptions`,
    'the first message of a subscription is no acknowledgement for it',
    'send notifications/subscriptions/acknowledged first, with the subscriptionId of the request in _meta',
  ),
  'http.get-delete': rule(
    'warning',
    `${HTTP}, one endpoint`,
    'GET or DELETE is not answered with 405 by an endpoint without sessions',
    'answer 405 to every method but POST',
  ),
  'http.session-id': rule(
    'error',
    `${HTTP}, no sessions`,
    'an answer of 2026-07-28 carries Mcp-Session-Id',
    'send no session id with answers of 2026-07-28',
  ),
  'http.origin': rule(
    'error',
    `${HTTP}, security`,
    'a request from a foreign web page (Origin) is served by a server on this machine',
    'check Origin on every request and answer 403 to those that are not yours',
  ),
  'http.content-type': rule(
    'error',
    `${HTTP}, answers`,
    'an answer is neither application/json nor text/event-stream',
    'name the Content-Type of what is sent',
  ),
  'http.notification': rule(
    'warning',
    `${OLD}, transports, Streamable HTTP`,
    'a notification that was taken is not answered with 202',
    'answer 202 without a body',
  ),
  'list.shape': rule(
    'error',
    `${NEW}, server, lists`,
    'a list could not be read',
    'answer with the list in its member (tools, resources, resourceTemplates, prompts), each item an object',
  ),
  'list.cursor-ignored': rule(
    'error',
    `${NEW}, server, pagination`,
    'a cursor that it gave itself brings the same page or the same cursor again',
    'go on where the cursor points, and leave nextCursor out on the last page',
  ),
  'list.cursor-refused': rule(
    'error',
    `${NEW}, server, pagination`,
    'a cursor that it gave itself is refused',
    'take every cursor that was given out a moment ago',
  ),
  'list.cursor-invented': rule(
    'advice',
    `${NEW}, server, pagination`,
    'a cursor that it never gave is taken',
    'answer invalid cursors with error -32602',
  ),
  'list.order': rule(
    'warning',
    `${NEW}, server, tools, listing`,
    'the same list comes in another order',
    'keep the order: callers cache prompts that are made of it',
  ),
  'tool.name-duplicate': rule(
    'error',
    `${NEW}, server, tools, names`,
    'a name is listed more than once',
    'give each a name of its own: a call names one of them',
  ),
  'tool.name-invalid': rule(
    'warning',
    `${NEW}, server, tools, names`,
    'a tool name is not 1 to 128 of A-Z a-z 0-9 _ - .',
    'rename it; clients that check leave it out',
  ),
  'tool.input-schema': rule(
    'error',
    `${NEW}, server, tools, inputSchema`,
    'inputSchema is no schema of an object',
    'give inputSchema as an object with type: "object"; {"type":"object"} for a tool without arguments',
  ),
  'tool.schema-invalid': rule(
    'error',
    `${NEW}, server, JSON Schema`,
    'a schema is not valid JSON Schema',
    'mend it; validate it against its own dialect (2020-12 where $schema is left out)',
  ),
  'tool.schema-dialect': rule(
    'warning',
    `${NEW}, server, JSON Schema`,
    'a schema is in a dialect that clients need not know',
    'write it in 2020-12, or leave $schema out, which means the same',
  ),
  'tool.schema-large': rule(
    'warning',
    `${NEW}, server, JSON Schema, limits`,
    'a schema is larger, deeper or slower to compile than clients allow',
    'make it smaller: clients leave the tool out, or check nothing',
  ),
  'tool.output-schema': rule(
    'error',
    `${NEW}, server, tools, outputSchema`,
    'outputSchema is no schema, or in a session revision no schema of an object',
    'give a schema; clients of the session revisions need type: "object" at its root',
  ),
  'tool.schema-external': rule(
    'error',
    `${NEW}, server, JSON Schema, references`,
    'a schema refers to something outside of itself, which clients must not fetch',
    'put what it refers to under $defs',
  ),
  'tool.param-header': rule(
    'error',
    `${HTTP}, x-mcp-header`,
    'an x-mcp-header annotation is not valid: HTTP clients must leave the tool out',
    'annotate only string, integer or boolean properties under properties alone, each with a header token of its own',
  ),
  'tool.description': rule(
    'advice',
    `${NEW}, server, tools`,
    'a tool has no description: a model has only its name to go by',
    'say what it does and when to use it',
  ),
  'resource.shape': rule(
    'error',
    `${NEW}, server, resources`,
    'a resource has no name, or no URI that is one; or its URI is listed twice',
    'give each resource a name and an absolute URI of its own, each template a uriTemplate',
  ),
  'prompt.shape': rule(
    'error',
    `${NEW}, server, prompts`,
    'a prompt has no name, or one that is listed twice, or arguments without names',
    'give each prompt a name of its own, each argument a name',
  ),
  'init.version': rule(
    'error',
    `${OLD}, lifecycle, version negotiation`,
    'initialize is answered with no revision that there is',
    'answer with the revision that was asked for, or the newest one that is served',
  ),
  'init.refused': rule(
    'warning',
    `${OLD}, lifecycle, version negotiation`,
    'a revision that it does not speak is refused instead of answered with another',
    'answer initialize with the newest revision that is served: the client decides',
  ),
  'init.shape': rule(
    'error',
    `${OLD}, lifecycle, initialization`,
    'the answer to initialize lacks capabilities or serverInfo with name and version',
    'answer with protocolVersion, capabilities and serverInfo',
  ),
  'session.id': rule(
    'error',
    `${OLD}, transports, session management`,
    'a session id has other characters than visible ASCII',
    'make it of 0x21 to 0x7E, long and random',
  ),
  'session.unknown': rule(
    'error',
    `${OLD}, transports, session management`,
    'a session id that it never gave is not answered with 404',
    'answer 404 to unknown sessions: clients then begin a new one',
  ),
  'session.missing': rule(
    'warning',
    `${OLD}, transports, session management`,
    'a request without the session id that it gave is not answered with 400',
    'answer 400 where the id of the session is missing',
  ),
  'session.version-header': rule(
    'error',
    `${OLD}, transports, protocol version header`,
    'an MCP-Protocol-Version that nobody speaks is served',
    'answer 400 to revisions that are not served',
  ),
  'stdio.noise': rule(
    'error',
    `${NEW}, transports, stdio`,
    'standard output carries something else than messages',
    'write logs to standard error: standard output is for JSON-RPC alone',
  ),
  'stdio.stays': rule(
    'warning',
    `${NEW}, transports, stdio, shutdown`,
    'the process does not end when its standard input closes',
    'end on end of input: it stays behind when its host is killed',
  ),
  'stdio.flood': rule(
    'error',
    `${NEW}, transports, stdio`,
    'it printed more than is read of a server under probe',
    'print what was asked for and nothing else',
  ),
  'server.ended': rule(
    'error',
    `${NEW}, transports`,
    'it ended, or took no more connections, in the middle of the probe',
    'answer what is odd with an error; the place says what it was sent last',
  ),
  'ask.undeclared': rule(
    'error',
    `${OLD}, lifecycle, capability negotiation`,
    'it asks for something that the client did not declare',
    'ask only for what the client declared',
  ),
  'auth.challenge': rule(
    'error',
    `${NEW}, authorization; RFC 9110, 11.6.1`,
    'a 401 comes without a Bearer challenge',
    'send WWW-Authenticate: Bearer resource_metadata="<url>" with every 401',
  ),
  'auth.resource-metadata': rule(
    'error',
    `${NEW}, authorization, server discovery; RFC 9728`,
    'it wants a login and has no protected-resource metadata that can be used',
    'serve /.well-known/oauth-protected-resource with resource and authorization_servers, and name it in the challenge',
  ),
  'auth.server-metadata': rule(
    'error',
    `${NEW}, authorization, server metadata; RFC 8414`,
    'an authorization server says nothing of itself that can be used',
    'serve its metadata at the well-known places of its issuer, with the issuer spelled the same',
  ),
  'auth.pkce': rule(
    'error',
    `${NEW}, authorization, PKCE`,
    'an authorization server does not offer PKCE with S256: clients must refuse it',
    'add code_challenge_methods_supported: ["S256"]',
  ),
  'auth.registration': rule(
    'warning',
    `${NEW}, authorization, client registration`,
    'clients cannot become known to the authorization server by themselves',
    'take client ID metadata documents (client_id_metadata_document_supported), or tell people how to register',
  ),
  'deprecated.registration': rule(
    'advice',
    `${NEW}, deprecated features`,
    'dynamic client registration is the only way to become known: deprecated since 2026-07-28, may go in a revision from 2027-07-28 on',
    'take client ID metadata documents as well',
  ),
  'deprecated.logging': rule(
    'advice',
    `${NEW}, deprecated features`,
    'Logging is offered: deprecated since 2026-07-28, may go in a revision from 2027-07-28 on',
    'log to standard error, or by OpenTelemetry',
  ),
  'deprecated.roots': rule(
    'advice',
    `${NEW}, deprecated features`,
    'Roots are asked for: deprecated since 2026-07-28, may go in a revision from 2027-07-28 on',
    'take folders as tool arguments or in the configuration',
  ),
  'deprecated.sampling': rule(
    'advice',
    `${NEW}, deprecated features`,
    'Sampling is asked for: deprecated since 2026-07-28, may go in a revision from 2027-07-28 on',
    "call a model's API from the server",
  ),
  'deprecated.http-sse': rule(
    'advice',
    `${OLD}, transports, backwards compatibility`,
    'the HTTP+SSE transport of 2024-11-05 is served: deprecated since 2025-03-26',
    'serve Streamable HTTP',
  ),
  'deprecated.task-support': rule(
    'advice',
    `${NEW}, changes, Tasks`,
    'a tool has execution.taskSupport, which 2026-07-28 removed',
    'offer the extension io.modelcontextprotocol/tasks; the server decides for each call',
  ),
  'era.sessions-only': rule(
    'advice',
    `${NEW}, basic, versioning`,
    'it speaks no 2026-07-28: clients keep a session with it',
    'serve 2026-07-28 beside the older revisions; both can live at one endpoint',
  ),
} as const satisfies Record<string, Rule>

export type RuleId = keyof typeof RULES

function rule(severity: Severity, section: string, broken: string, wayOut: string): Rule {
  return { severity, section, broken, wayOut }
}
