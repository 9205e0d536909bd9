/** The errors that verbs and commands raise, for the rooms above the gateway. */
export { ComityError, type ComityErrorCode } from '../../core/words/errors.ts'
