/**
 * The form of `comity.yaml`: which keys there are and what may stand under them.
 *
 * Every leaf's error text is the accepted form; what came is added by check-config.ts. What one key means for
 * another (peers that exist, command or url) is cross-checks.ts's.
 */
import { z } from 'zod'
import { GRANTS } from './check-auth.ts'
import { FOREIGN_SERVER_KEYS } from './foreign-keys.ts'
import { MCP_REVISIONS } from './config.ts'
import { LOCKED_ASKS, LOCKED_OFFERS } from '../../mcp/upstream/lock.ts'
import { nearest } from './mistakes.ts'

/** A peer's name. */
export const PEER_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/

const PEER_NAME_FORM =
  'a name of 1 to 40 letters, digits, dots, underscores or hyphens that begins with a letter or digit'

/** Keys that later versions know, by what to do until then. */
const NOT_YET: Readonly<Record<string, string>> = {
  profiles: 'not in this version; every capability is on /mcp, and policy rules restrict it',
  budgets: 'not in this version; remove it',
  sandbox:
    'not in this version; servers run as your user. Remove it, or start the server in a sandbox by its own command',
  auth: 'not in this version here, only for a server under mcpServers; agents take headers, for example Authorization: "Bearer ${file:./token}"',
  keys: 'not in this version; remove it',
}

const text = (form = 'text'): z.ZodString => z.string({ error: form }).min(1, { error: form })
const quoted = z.string({ error: 'text; put numbers, true and false in quotes' })
const textList = (form: string): z.ZodArray<z.ZodString> => z.array(text(form), { error: form })
const oneOf = <const T extends readonly [string, ...string[]]>(
  values: T,
): z.ZodEnum<{ [K in T[number]]: K }> => z.enum(values, { error: `one of: ${values.join(', ')}` })
const flag = z.boolean({ error: 'true or false' })

/** A mapping with exactly these keys. Unknown ones are said one a line, in the issue's order. */
function section<const T extends z.ZodRawShape>(
  shape: T,
  options: { readonly hidden?: readonly string[] } = {},
): z.ZodObject<T, z.core.$strict> {
  const known = Object.keys(shape).filter((key) => options.hidden?.includes(key) !== true)
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => sayUnknownKey(key, known)).join('\n')
        : `a mapping with ${known.join(', ')}`,
  })
}

function sayUnknownKey(key: string, known: readonly string[]): string {
  if (Object.hasOwn(NOT_YET, key)) return NOT_YET[key] ?? ''
  const meant = nearest(key, known)
  const hint = meant === undefined ? '' : `did you mean ${meant}? `
  return `not a key that comity knows; ${hint}expected ${known.join(', ')}`
}

const named = <T extends z.ZodType>(value: T): z.ZodRecord<z.ZodString, T> =>
  z.record(z.string().regex(PEER_NAME, { error: PEER_NAME_FORM }), value, {
    error: 'a mapping from names',
  })

const globs = z.union([text(), textList('text')], {
  error: 'peer/capability, with * for anything, or a list of such',
})
const oneOrMore = z.union([text(), textList('text')], { error: 'text or a list of text' })

const KINDS = ['tool', 'resource', 'template', 'prompt', 'agent', 'question'] as const
const kinds = z.union([oneOf(KINDS), z.array(oneOf(KINDS))], {
  error: `one of ${KINDS.join(', ')}, or a list of such`,
})

const headers = z.record(z.string(), quoted, { error: 'a mapping from header names to text' })

const foreign = Object.fromEntries(FOREIGN_SERVER_KEYS.map((key) => [key, z.unknown().optional()]))

const lock = section(
  Object.fromEntries([...LOCKED_OFFERS, ...LOCKED_ASKS].map((key) => [key, flag.optional()])),
)

const timeouts = section({
  start: text('a duration, such as 2m').optional(),
  idle: text('a duration, such as 90s').optional(),
  call: text('a duration, such as 10m').optional(),
})

const auth = section({
  grant: oneOf(GRANTS).optional(),
  client: section({
    id: text('the id that the authorization server knows this client by'),
    secret: quoted.min(1, { error: 'text' }).optional(),
    privateKey: text('a private key, as PEM (PKCS#8) or JWK').optional(),
    algorithm: text('the algorithm that the key signs with, such as ES256').optional(),
  }).optional(),
  issuer: text('the URL of the authorization server').optional(),
  metadataUrl: text('the https:// URL of our client ID metadata document').optional(),
  scopes: textList('a list of scopes').optional(),
  redirectPort: z
    .int({ error: 'a port from 1 to 65535' })
    .min(1, { error: 'a port from 1 to 65535' })
    .max(65535, { error: 'a port from 1 to 65535' })
    .optional(),
  assertion: text('a signed assertion').optional(),
  identity: section({
    issuer: text('the URL of the identity provider'),
    idToken: text('the ID token that it gave'),
    client: section({ id: text('a client id'), secret: quoted.optional() }).optional(),
  }).optional(),
  dpop: flag.optional(),
})

const server = section(
  {
    command: text('the program to start, such as npx').optional(),
    args: z.array(quoted, { error: 'a list of text' }).optional(),
    env: z.record(z.string(), quoted, { error: 'a mapping from names to text' }).optional(),
    cwd: text('the path of a folder').optional(),
    url: text('an http:// or https:// URL').optional(),
    headers: headers.optional(),
    auth: auth.optional(),
    revision: oneOf(MCP_REVISIONS).optional(),
    canary: section({
      revision: oneOf(MCP_REVISIONS),
      share: text('a share of callers, such as 5%'),
    }).optional(),
    capabilities: lock.optional(),
    stateless: flag.optional(),
    timeouts: timeouts.optional(),
    trust: oneOf(['all', 'none']).optional(),
    disabled: flag.optional(),
    enabled: flag.optional(),
    ...foreign,
  },
  { hidden: [...FOREIGN_SERVER_KEYS, 'enabled'] },
)

const agent = section({
  card: text('the URL of an agent card, or of the agent'),
  headers: headers.optional(),
  allowHosts: textList('a list of host names').optional(),
  disabled: flag.optional(),
})

const rule = section({
  match: globs,
  except: globs.optional(),
  kind: kinds.optional(),
  principal: oneOrMore.optional(),
  groups: oneOrMore.optional(),
  risk: oneOf(['read', 'write', 'destructive']).optional(),
  effect: oneOf(['allow', 'ask', 'deny']).optional(),
  when: text('a CEL condition, such as risk == "write"').optional(),
  ttl: text('a duration, such as 15m').optional(),
  approver: oneOf(['operator']).optional(),
})

const acceptance = section({
  mediaTypes: textList('a list of media types, such as text/markdown or image/*').optional(),
  maxBytes: z
    .int({ error: 'a whole number of bytes' })
    .positive({ error: 'a whole number of bytes above 0' })
    .optional(),
  required: textList('a list of artifact names').optional(),
  citations: section({ resolveWith: text('peer/tool, such as docs/read_document') }).optional(),
})

const published = section({
  description: text('a sentence for the agent card'),
  skills: z.record(
    z.string().regex(PEER_NAME, { error: PEER_NAME_FORM }),
    section({
      route: text('peer/tool, such as docs/search_documents'),
      description: text().optional(),
      text: text('the name of the argument that text alone fills').optional(),
    }),
    { error: 'a mapping from skill names' },
  ),
})

/** The whole file. */
export const configSchema = section({
  mcpServers: named(server).optional(),
  agents: named(agent).optional(),
  policy: section({
    preset: oneOf(['personal', 'team']).optional(),
    shadow: flag.optional(),
    rules: z.array(rule, { error: 'a list of rules' }).optional(),
  }).optional(),
  acceptance: named(acceptance).optional(),
  publish: named(published).optional(),
  names: oneOf(['prefixed', 'as-is']).optional(),
  lists: oneOf(['partial', 'strict']).optional(),
  tasks: section({
    after: text('a duration, such as 5s').optional(),
    ttl: text('a duration, such as 7d').optional(),
    poll: text('a duration, such as 1s').optional(),
    limit: text('a duration, such as 24h').optional(),
  }).optional(),
  tokens: z
    .record(
      z.string(),
      section({ token: text('the token'), groups: textList('a list of group names').optional() }),
      { error: 'a mapping from principals to { token, groups }' },
    )
    .optional(),
  listen: section({
    host: text('a host name or address').optional(),
    port: z
      .int({ error: 'a port from 0 to 65535' })
      .min(0, { error: 'a port from 0 to 65535' })
      .max(65535, { error: 'a port from 0 to 65535' })
      .optional(),
    url: text('the http:// or https:// URL under which callers reach this gateway').optional(),
    hosts: textList('a list of host names and addresses').optional(),
  }).optional(),
  store: text('sqlite or sqlite:<file>').optional(),
})

/** The file's form, before defaults. */
export type ConfigFile = z.infer<typeof configSchema>
