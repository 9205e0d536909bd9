/**
 * What one part of the file means for another: names, transports, URLs, headers, routes, tokens, listening.
 *
 * Reads the value before its form is known, so that these mistakes are told together with those of form; where the
 * form is wrong it says nothing.
 */
import { isIP } from 'node:net'
import { RESERVED_PEER_NAMES } from '../../core/words/exposed-name.ts'
import { LOCAL, OPERATOR } from '../../core/words/principal.ts'
import { checkAuth } from './check-auth.ts'
import { checkCanary } from './check-canary.ts'
import { parseDuration } from './duration.ts'
import { isOff } from './expand-file.ts'
import type { ConfigPath, Mistake } from './mistakes.ts'
import { nearest, sayValue } from './mistakes.ts'
import { asMapping, asText, asTexts } from './plain.ts'
import { checkPolicy } from './check-policy.ts'

const RESERVED_PRINCIPALS = [LOCAL.id, OPERATOR.id]
const MAX_PEERS = 200
const MAX_TIMEOUT_MS = 86_400_000
/** Headers that the protocols set; an operator's value would contradict the message. */
const OUR_HEADERS =
  /^(host|connection|content-length|content-type|content-encoding|transfer-encoding|te|trailer|upgrade|expect|keep-alive|accept|mcp-.*|a2a-.*)$/i

/** Whether the protocols set this header, so that an operator may not. */
export function isOurHeader(name: string): boolean {
  return OUR_HEADERS.test(name)
}

/** Every mistake that takes more than one key to see. */
export function crossCheck(value: unknown): readonly Mistake[] {
  const file = asMapping(value)
  const servers = asMapping(file['mcpServers'])
  const agents = asMapping(file['agents'])
  const peers = [...Object.keys(servers), ...Object.keys(agents)]
  return [
    ...checkNames(servers, agents),
    ...Object.entries(servers).flatMap(([name, server]) => checkServer(name, asMapping(server))),
    ...Object.entries(agents).flatMap(([name, agent]) => checkAgent(name, asMapping(agent))),
    ...checkPolicy(asMapping(file['policy']), peers),
    ...checkAcceptance(asMapping(file['acceptance']), Object.keys(agents), Object.keys(servers)),
    ...checkPublish(asMapping(file['publish']), Object.keys(servers)),
    ...checkTokens(file['tokens']),
    ...checkListen(asMapping(file['listen']), file['tokens']),
    ...checkTasks(asMapping(file['tasks'])),
    ...checkStore(file['store']),
  ]
}

function checkNames(
  servers: Readonly<Record<string, unknown>>,
  agents: Readonly<Record<string, unknown>>,
): Mistake[] {
  const mistakes: Mistake[] = []
  const places: readonly (readonly [string, string])[] = [
    ...Object.keys(servers).map((name) => ['mcpServers', name] as const),
    ...Object.keys(agents).map((name) => ['agents', name] as const),
  ]
  for (const path of places) {
    if (RESERVED_PEER_NAMES.includes(path[1])) {
      const message = `expected a name other than ${RESERVED_PEER_NAMES.join(', ')}: comity's own tools begin with those`
      mistakes.push({ path, message })
    }
  }
  for (const name of Object.keys(agents)) {
    if (Object.hasOwn(servers, name)) {
      const message = 'expected a name that mcpServers does not have: both share one name space'
      mistakes.push({ path: ['agents', name], message })
    }
  }
  if (places.length > MAX_PEERS) {
    mistakes.push({
      path: [],
      message: `expected at most ${MAX_PEERS} peers, got ${places.length}`,
    })
  }
  return mistakes
}

const WAYS = 'expected command (a program to start) or url (a server to reach)'

function checkServer(name: string, server: Readonly<Record<string, unknown>>): Mistake[] {
  const path: ConfigPath = ['mcpServers', name]
  const has = (key: string): boolean => server[key] !== undefined
  const mistakes: Mistake[] = []
  if (has('command') && has('url')) {
    mistakes.push({ path, message: `${WAYS}, got both` })
  } else if (!has('command') && !has('url')) {
    mistakes.push({ path, message: `${WAYS}, got neither` })
  }
  const misplaced = has('url') ? ['args', 'env', 'cwd'] : has('command') ? ['headers', 'auth'] : []
  for (const key of misplaced.filter(has)) {
    const message = `${key} has no meaning beside ${has('url') ? 'url' : 'command'}; remove one of them`
    mistakes.push({ path: [...path, key], message })
  }
  if (!isOff(server)) mistakes.push(...checkUrl([...path, 'url'], server['url']))
  mistakes.push(...checkHeaders([...path, 'headers'], server['headers'], isOff(server)))
  if (has('url')) mistakes.push(...checkAuth(path, server, isOff(server)))
  mistakes.push(...checkEnv([...path, 'env'], server['env']))
  mistakes.push(...checkCanary(path, server))
  mistakes.push(...checkTimeouts([...path, 'timeouts'], server['timeouts']))
  for (const [index, argument] of asTexts(server['args']).entries()) {
    if (argument.includes('\0')) {
      mistakes.push({ path: [...path, 'args', index], message: 'holds a zero character' })
    }
  }
  return mistakes
}

function checkTimeouts(path: ConfigPath, value: unknown): Mistake[] {
  return Object.entries(asMapping(value)).flatMap(([key, given]) => {
    const text = asText(given)
    if (text === undefined || text === '') return []
    const ms = parseDuration(text)
    if (ms !== undefined && ms >= 1_000 && ms <= MAX_TIMEOUT_MS) return []
    const message = `expected a duration from 1s to 1d, such as 90s or 10m; got ${sayValue(text, path)}`
    return [{ path: [...path, key], message }]
  })
}

/** Each with its shortest and longest, in words and milliseconds. */
const TASK_TIMES: Readonly<Record<string, readonly [string, number, string, number]>> = {
  after: ['1ms', 1, '10m', 600_000],
  ttl: ['1m', 60_000, '365d', 31_536_000_000],
  poll: ['100ms', 100, '10m', 600_000],
  limit: ['1s', 1_000, '20d', 1_728_000_000],
}

function checkTasks(tasks: Readonly<Record<string, unknown>>): Mistake[] {
  return Object.entries(TASK_TIMES).flatMap(([key, [shortest, least, longest, most]]) => {
    const text = asText(tasks[key])
    if (text === undefined || text === '') return []
    const ms = parseDuration(text)
    if (ms !== undefined && ms >= least && ms <= most) return []
    const path: ConfigPath = ['tasks', key]
    const message = `expected a duration from ${shortest} to ${longest}, such as ${key === 'ttl' ? '7d' : '10s'}; got ${sayValue(text, path)}`
    return [{ path, message }]
  })
}

function checkAgent(name: string, agent: Readonly<Record<string, unknown>>): Mistake[] {
  const path: ConfigPath = ['agents', name]
  const hosts = asTexts(agent['allowHosts']).flatMap((host, index) =>
    isHostName(host.replace(/^\*\./, ''))
      ? []
      : [
          {
            path: [...path, 'allowHosts', index],
            message: 'expected a host name such as agents.example, without scheme, port or path',
          },
        ],
  )
  return [
    ...(isOff(agent) ? [] : checkUrl([...path, 'card'], agent['card'])),
    ...checkHeaders([...path, 'headers'], agent['headers'], isOff(agent)),
    ...hosts,
  ]
}

function checkUrl(path: ConfigPath, value: unknown): Mistake[] {
  const text = asText(value)
  if (text === undefined || text === '') return []
  const url = URL.parse(text)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    return [{ path, message: 'expected an http:// or https:// URL, got text that is none' }]
  }
  if (url.username !== '' || url.password !== '') {
    return [{ path, message: 'expected a URL without user name and password; put them in headers' }]
  }
  return []
}

function checkHeaders(path: ConfigPath, value: unknown, off: boolean): Mistake[] {
  const mistakes: Mistake[] = []
  for (const [name, header] of Object.entries(asMapping(value))) {
    const at = [...path, name]
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/.test(name)) {
      mistakes.push({ path: at, message: 'expected the name of an HTTP header' })
    } else if (isOurHeader(name)) {
      mistakes.push({ path: at, message: 'comity sets this header itself; remove it' })
    }
    if (!off && typeof header === 'string' && !/^[\t\x20-\x7e\x80-\xff]*$/.test(header)) {
      const message =
        'expected one line of Latin text; the value (not shown) holds other characters'
      mistakes.push({ path: at, message })
    }
  }
  return mistakes
}

function checkEnv(path: ConfigPath, value: unknown): Mistake[] {
  return Object.entries(asMapping(value)).flatMap(([name, text]) => {
    if (name === '' || name.includes('=') || name.includes('\0')) {
      return [{ path: [...path, name], message: 'expected the name of an environment variable' }]
    }
    return typeof text === 'string' && text.includes('\0')
      ? [{ path: [...path, name], message: 'the value (not shown) holds a zero character' }]
      : []
  })
}

function checkAcceptance(
  acceptance: Readonly<Record<string, unknown>>,
  agents: readonly string[],
  servers: readonly string[],
): Mistake[] {
  return Object.entries(acceptance).flatMap(([name, value]) => {
    const path: ConfigPath = ['acceptance', name]
    const rule = asMapping(value)
    const types = asTexts(rule['mediaTypes']).flatMap((type, index) =>
      /^[a-z0-9!#$&^_.+-]+\/([a-z0-9!#$&^_.+-]+|\*)$/.test(type)
        ? []
        : [
            {
              path: [...path, 'mediaTypes', index],
              message: `expected a media type in lower case without parameters, such as text/markdown or image/*; got ${sayValue(type, path)}`,
            },
          ],
    )
    const resolveWith = asMapping(rule['citations'])['resolveWith']
    return [
      ...(agents.includes(name) ? [] : [unknownName(path, name, agents, 'an agent under agents')]),
      ...types,
      ...checkRoute([...path, 'citations', 'resolveWith'], resolveWith, servers),
    ]
  })
}

function checkPublish(
  publish: Readonly<Record<string, unknown>>,
  servers: readonly string[],
): Mistake[] {
  return Object.entries(publish).flatMap(([name, value]) => {
    const path: ConfigPath = ['publish', name, 'skills']
    const published = asMapping(value)
    const skills = asMapping(published['skills'])
    const empty =
      published['skills'] !== undefined && Object.keys(skills).length === 0
        ? [{ path, message: 'expected at least one skill' }]
        : []
    const routes = Object.entries(skills).flatMap(([skill, entry]) =>
      checkRoute([...path, skill, 'route'], asMapping(entry)['route'], servers),
    )
    return [...empty, ...routes]
  })
}

function checkRoute(path: ConfigPath, value: unknown, servers: readonly string[]): Mistake[] {
  const text = asText(value)
  if (text === undefined || text === '') return []
  const slash = text.indexOf('/')
  if (slash <= 0 || slash === text.length - 1) {
    const message = `expected peer/tool, such as docs/search_documents; got ${sayValue(text, path)}`
    return [{ path, message }]
  }
  const peer = text.slice(0, slash)
  return servers.includes(peer)
    ? []
    : [unknownName(path, peer, servers, 'a server under mcpServers')]
}

function unknownName(
  path: ConfigPath,
  name: string,
  known: readonly string[],
  what: string,
): Mistake {
  const meant = nearest(name, known)
  const hint = meant === undefined ? '' : `; did you mean ${meant}?`
  const names = known.length === 0 ? 'there are none' : known.slice(0, 10).join(', ')
  return { path, message: `expected ${what} (${names}), got ${sayValue(name, path)}${hint}` }
}

function checkTokens(value: unknown): Mistake[] {
  if (value === undefined) return []
  const entries = Object.entries(asMapping(value))
  const mistakes: Mistake[] = []
  if (typeof value === 'object' && value !== null && entries.length === 0) {
    const message =
      'expected at least one principal; without the section loopback serves the principal local'
    mistakes.push({ path: ['tokens'], message })
  }
  const seen = new Map<string, string>()
  for (const [principal, entry] of entries) {
    const path: ConfigPath = ['tokens', principal]
    if (RESERVED_PRINCIPALS.includes(principal)) {
      mistakes.push({
        path,
        message: `expected a principal other than ${RESERVED_PRINCIPALS.join(', ')}`,
      })
    }
    const token = asText(asMapping(entry)['token'])
    if (token === undefined || token === '') continue
    if (!/^[\x21-\x7e]+$/.test(token)) {
      const message = 'expected visible ASCII characters without spaces (the value is not shown)'
      mistakes.push({ path: [...path, 'token'], message })
    }
    const other = seen.get(token)
    if (other !== undefined) {
      const message = `expected a token of its own; ${other} has the same one`
      mistakes.push({ path: [...path, 'token'], message })
    }
    seen.set(token, principal)
  }
  return mistakes
}

/** Whether only this machine can reach what listens there. */
export function isLoopback(host: string): boolean {
  return (
    host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host)
  )
}

function checkListen(listen: Readonly<Record<string, unknown>>, tokens: unknown): Mistake[] {
  const url = asText(listen['url'])
  const form = checkUrl(['listen', 'url'], url)
  const parsed = url === undefined ? null : URL.parse(url)
  if (parsed !== null && (parsed.search !== '' || parsed.hash !== ''))
    form.push({ path: ['listen', 'url'], message: 'expected a URL without query and fragment' })
  const hosts = asTexts(listen['hosts'])
  for (const [index, host] of hosts.entries()) {
    if (isHostName(host) || isIP(host) !== 0) continue
    const message =
      'expected a host name or address such as gateway.example, without scheme, port or path'
    form.push({ path: ['listen', 'hosts', index], message })
  }
  if (form.length > 0 || tokens !== undefined) return form
  // Whoever is served under another name than loopback's comes from elsewhere, through whatever stands before us.
  const named: readonly (readonly [ConfigPath, string | undefined])[] = [
    [['listen', 'host'], asText(listen['host'])],
    [['listen', 'url'], parsed?.hostname],
    ...hosts.map((host, index) => [['listen', 'hosts', index], host] as const),
  ]
  return named.flatMap(([path, host]) =>
    host === undefined || host === '' || isLoopback(host)
      ? []
      : [
          {
            path,
            message: `expected 127.0.0.1, ::1 or localhost as long as there is no tokens section; got ${sayValue(host, [])}`,
          },
        ],
  )
}

function isHostName(text: string): boolean {
  return /^[A-Za-z0-9._-]+$|^\[[0-9A-Fa-f:.]+\]$/.test(text)
}

function checkStore(value: unknown): Mistake[] {
  const text = asText(value)
  if (text === undefined || text === 'sqlite' || /^sqlite:./.test(text)) return []
  const path: ConfigPath = ['store']
  if (/^postgres(ql)?:/.test(text)) {
    return [
      { path, message: 'PostgreSQL is not in this version; expected sqlite or sqlite:<file>' },
    ]
  }
  return [{ path, message: 'expected sqlite or sqlite:<file>' }]
}
