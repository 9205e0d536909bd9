/** JSON that keeps its digits, for the rooms above the gateway. */
export { parseExact } from '../../core/words/exact-json.ts'
