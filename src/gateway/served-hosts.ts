/** Under which host names callers reach a bound address: what the Host and Origin headers may name, and what cards say. */
import { isIPv6 } from 'node:net'
import { hostname, networkInterfaces } from 'node:os'
import type { ListenConfig } from './config/config.ts'

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']
const EVERY_ADDRESS = ['0.0.0.0', '[::]']

/** What the configuration says of names besides the bound one. */
type Said = Pick<ListenConfig, 'url' | 'hosts'>

/**
 * The bound name itself, loopback's, and what the configuration names; for a wildcard every address of this machine and its name.
 *
 * @param bound as configured: a name or an address, with or without brackets.
 * @returns as the Host header is compared: lower case, IPv6 in brackets and in its shortest form.
 */
export function servedHosts(bound: string, { url, hosts }: Said): readonly string[] {
  const said = [...hosts, ...(url === undefined ? [] : [new URL(url).hostname])]
  const own = EVERY_ADDRESS.includes(hostInUrl(bound))
    ? [hostname(), ...interfaces().map(({ address }) => address)]
    : [bound]
  return [...LOOPBACK, ...[...own, ...said].map(hostInUrl)]
}

/**
 * Where cards send callers: `listen.url`; else the bound address, and for a wildcard, which nobody can call, one of this
 * machine's that others can.
 *
 * @param at where it listens, as a URL.
 */
export function advertisedUrl(at: string, { url }: Said): string {
  if (url !== undefined) return url
  const listening = new URL(at)
  if (!EVERY_ADDRESS.includes(listening.hostname)) return at
  const outside = interfaces().find(({ internal, family }) => !internal && family === 'IPv4')
  return `http://${outside?.address ?? '127.0.0.1'}:${listening.port}`
}

/** A host name or address as a URL has it. */
export function hostInUrl(host: string): string {
  const url = URL.parse(`http://${isIPv6(host) ? `[${host}]` : host}`)
  return url === null ? host : url.hostname
}

function interfaces(): readonly { address: string; internal: boolean; family: string }[] {
  return Object.values(networkInterfaces()).flatMap((all) => all ?? [])
}
