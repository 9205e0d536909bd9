/** What the CLI's exit codes mean; promised in the README. */
import type { OutcomeReport } from '../gateway/admin/operator.ts'
import type { ComityErrorCode } from '../gateway/admin/errors.ts'

export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  refused: 3,
  unknown: 4,
  working: 5,
  interrupted: 130,
} as const

const REFUSED_CODES = new Set(['approval_required', 'approval_denied', 'denied', 'pin_changed'])
const USAGE_CODES = new Set(['bad_arguments', 'unknown_capability'])

/** The exit code of an outcome. */
export function exitOfOutcome(outcome: OutcomeReport): number {
  switch (outcome.state) {
    case 'answered':
    case 'completed':
      return outcome.toolError === true ? EXIT.failed : EXIT.done
    case 'working':
    case 'submitted':
    case 'input_required':
    case 'auth_required':
      return EXIT.working
    case 'unknown':
      return EXIT.unknown
    default:
      if (outcome.code !== undefined && REFUSED_CODES.has(outcome.code)) return EXIT.refused
      return outcome.code !== undefined && USAGE_CODES.has(outcome.code) ? EXIT.usage : EXIT.failed
  }
}

/** The exit code of an error that is no outcome. */
export function exitOfError(code: ComityErrorCode): number {
  switch (code) {
    case 'config_invalid':
    case 'not_in_this_version':
    case 'usage':
    case 'not_found':
      return EXIT.usage
    case 'not_allowed':
      return EXIT.refused
    case 'store_locked':
    case 'store_unwritable':
    case 'store_corrupt':
    case 'conflict':
    case 'internal':
      return EXIT.failed
  }
}
