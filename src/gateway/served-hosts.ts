/** Under which host names callers reach a bound address: what the Host and Origin headers may name. */
import { isIPv6 } from 'node:net'
import { hostname, networkInterfaces } from 'node:os'

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']
const EVERY_ADDRESS = ['0.0.0.0', '::', '[::]']

/**
 * The bound name itself and loopback's; for a wildcard every address of this machine and its name.
 *
 * @param bound as configured: a name or an address.
 */
export function servedHosts(bound: string): readonly string[] {
  if (!EVERY_ADDRESS.includes(bound)) return [...LOOPBACK, bracketed(bound)]
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? [])
  return [...LOOPBACK, hostname(), ...addresses.map(({ address }) => bracketed(address))]
}

/** As a URL writes it. */
function bracketed(host: string): string {
  return isIPv6(host) ? `[${host}]` : host
}
