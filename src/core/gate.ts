/**
 * The gate: one fixed order of checks for every call, new or resumed, whichever door it came through.
 *
 * Known and visible, pin and endpoint, arguments against the full schema, policy, approval. A leaf: it sends nothing and
 * records only the approval it asks for. Doors have authenticated and scanned before; `Ledger.open` comes after.
 */
import type { Approvals, ArgumentCheck, PinCheck, PolicyCheck } from './ports/checks.ts'
import type { Digest } from './ports/world.ts'
import type { OutboundCall } from './words/call.ts'
import { ComityError } from './words/errors.ts'
import { textOfJson } from './words/native.ts'
import { refused, type Failed } from './words/outcome.ts'
import type { Decision } from './words/policy.ts'

export interface GatePorts {
  readonly policy: PolicyCheck
  readonly pins: PinCheck
  readonly argumentCheck: ArgumentCheck
  readonly approvals: Approvals
  readonly digest: Digest
}

export type GateVerdict =
  | {
      readonly kind: 'pass'
      readonly decision: Decision
      /** To be spent by `open`, which also knows whether an earlier round of this call may hand it on. */
      readonly approvalId?: string
    }
  | {
      readonly kind: 'refused'
      readonly outcome: Failed
      readonly decision?: Decision
    }

/** Runs every check in order; the first that refuses decides. At once, unless a person's approval is to be looked for. */
export function passGate(ports: GatePorts, call: OutboundCall): GateVerdict | Promise<GateVerdict> {
  const early = checkSight(ports, call) ?? checkArguments(ports, call)
  if (early !== undefined) return { kind: 'refused', outcome: early }

  const decision = ports.policy.decide(call.principal, call.route, call.arguments)
  if (decision.effect === 'deny') {
    const outcome = refused('policy', 'denied', `denied by ${decision.rule}; nothing was sent`)
    return { kind: 'refused', outcome, decision }
  }
  if (decision.effect === 'allow') return { kind: 'pass', decision }
  if (call.continuation?.approvalId !== undefined) {
    // The envelope that carried it is sealed by us and bound to these very arguments.
    const { approvalId } = call.continuation
    return { kind: 'pass', decision, approvalId }
  }
  return passAPerson(ports, call, decision)
}

async function passAPerson(
  ports: GatePorts,
  call: OutboundCall,
  decision: Decision,
): Promise<GateVerdict> {
  try {
    return await askForApproval(ports, call, decision)
  } catch (error) {
    if (!(error instanceof ComityError)) throw error
    // Too many wait, or too much to show: the record is well, it is a person's attention that is short.
    const code = error.code === 'not_allowed' ? 'approval_required' : 'record_unwritable'
    const outcome = refused(
      'policy',
      code,
      `this call needs a person's approval (${decision.rule}), which cannot be asked for now: ${error.message}; nothing was sent`,
    )
    return { kind: 'refused', outcome, decision }
  }
}

/**
 * Whether what let a call through still does, asked after `open` and just before the send. Its arguments are not looked at
 * again: they are the same, and the definition that they were held against is the one of the pin.
 *
 * @returns the refusal when policy or pin changed meanwhile.
 */
export function stillPasses(
  ports: GatePorts,
  call: OutboundCall,
  decision: Decision,
): Failed | undefined {
  const early = checkSight(ports, call)
  if (early !== undefined) return early
  const now = ports.policy.decide(call.principal, call.route, call.arguments)
  if (now.version === decision.version && now.effect === decision.effect) return undefined
  return refused(
    'policy',
    'gate_changed',
    'the rules changed between the decision and the send; nothing was sent, call again',
  )
}

/** Binds an approval to exactly one call: who, where, which definition, what. */
export function approvalDigest(
  digest: Digest,
  call: OutboundCall,
  argumentsDigest: string,
): string {
  const { route, principal } = call
  return digest.text(
    JSON.stringify([
      principal.id,
      route.peer,
      route.endpoint,
      route.kind,
      route.capability,
      route.fingerprint,
      call.operation,
      argumentsDigest,
    ]),
  )
}

function checkSight(ports: GatePorts, { route, principal }: OutboundCall): Failed | undefined {
  if (!ports.policy.visible(principal, route)) {
    // The same words as for a name that never was: hidden and unknown look alike.
    return refused('validation', 'unknown_capability', `unknown ${route.kind}: ${route.exposed}`)
  }
  if (ports.pins.state(route) === 'changed') {
    return refused(
      'policy',
      'pin_changed',
      `the definition of ${route.peer}/${route.capability} changed since it was accepted; nothing was sent. ` +
        `See the difference with: comity pins, and accept it with: comity pins accept ${route.peer}`,
    )
  }
  return undefined
}

function checkArguments(ports: GatePorts, call: OutboundCall): Failed | undefined {
  if (call.operation === 'answer') return undefined
  const faults = ports.argumentCheck.check(call.route, call.arguments)
  if (faults.length === 0) return undefined
  const told = faults.map(
    (fault) => `${fault.path === '' ? 'arguments' : fault.path}: ${fault.expected}`,
  )
  return refused(
    'validation',
    'bad_arguments',
    `bad arguments, nothing was sent. ${told.join('; ')}`,
  )
}

async function askForApproval(
  ports: GatePorts,
  call: OutboundCall,
  decision: Decision,
): Promise<GateVerdict> {
  const digest = approvalDigest(ports.digest, call, ports.digest.json(call.arguments))
  const known = await ports.approvals.find(digest)
  if (known?.state === 'approved') {
    return { kind: 'pass', decision, approvalId: known.id }
  }
  if (known?.state === 'denied') {
    const outcome = refused(
      'policy',
      'approval_denied',
      `a person denied this call (${known.id}); nothing was sent`,
      known.id,
    )
    return { kind: 'refused', outcome, decision }
  }
  const { route, principal } = call
  const approval = await ports.approvals.request(
    {
      digest,
      principal: principal.id,
      peer: route.peer,
      capability: route.capability,
      endpoint: route.endpoint,
      risk: decision.risk,
      rule: decision.rule,
      argumentsText: textOfJson(call.arguments),
      theirWords: ports.approvals.describe(route),
    },
    decision.approvalTtlMs,
  )
  const outcome = refused(
    'policy',
    'approval_required',
    `this call needs a person's approval (${decision.rule}); nothing was sent. ` +
      `A person runs: ${ports.approvals.commandFor?.(approval.id) ?? `comity approve ${approval.id}`}  (until ${approval.expiresAt}). Then make the very same call again; it passes once.`,
    approval.id,
  )
  return { kind: 'refused', outcome, decision }
}
