/**
 * Node's HTTP, taken from Node itself: an import by name reads all that the module has, and one of its getters loads a whole web
 * client, which costs more time and memory than everything else that a start loads of Node.
 */
import type * as http from 'node:http'

/** As `import('node:http')` gives it. Loaded by the first call. */
export function nodeHttp(): typeof http {
  return process.getBuiltinModule('node:http')
}
