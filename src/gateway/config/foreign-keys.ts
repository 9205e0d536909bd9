/**
 * Keys of a server that other hosts know and comity does not use: accepted, so that a file can be taken as it is,
 * and reported. `disabled` and `enabled` are not among them: those are honoured.
 */

const REASONS = {
  type: 'the transport follows from command or url',
  transport: 'the transport follows from command or url',
  transportType: 'the transport follows from command or url',
  autoApprove: 'what may run unasked is said by policy rules',
  alwaysAllow: 'what may run unasked is said by policy rules',
  trustedTools: 'what may run unasked is said by policy rules',
  timeout: 'how long a call may take is said by timeouts: { idle, call }',
  initTimeout: 'how long a start may take is said by timeouts: { start }',
  envFile:
    'the file is not read; name what the server needs under env, with ${file:...} or ${env:...}',
  disabledTools: 'these tools stay on; a policy rule with effect: deny takes a tool away',
  enabledTools: 'all tools stay on; policy rules with effect: deny take tools away',
  description: 'only for people',
  name: 'only for people; the key above is the name',
  displayName: 'only for people; the key above is the name',
  icon: 'only for people',
  iconUrl: 'only for people',
  gallery: 'only for another host',
  version: 'only for another host; pin versions in args',
  dev: 'only for another host',
  note: 'only for people',
} as const satisfies Readonly<Record<string, string>>

/** Every such key. */
export const FOREIGN_SERVER_KEYS: readonly string[] = Object.keys(REASONS)

/** Why a key of another host has no effect here; undefined when it is not one. */
export function foreignKeyReason(key: string): string | undefined {
  return Object.hasOwn(REASONS, key) ? REASONS[key as keyof typeof REASONS] : undefined
}
