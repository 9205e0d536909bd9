/**
 * Which declarations the package needs: what the library door says, and what that names. The compiler emits all there are.
 */
import { cpSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const DOOR = 'index.d.ts'
const NAMED = /(?:\bfrom |\bimport\()['"](\.[^'"]+)\.[jt]s['"]/g

/**
 * Copies the door's declarations.
 *
 * @param from where the compiler put them. @throws Error when one names a file that is not there.
 */
export function copyDeclarations(from: string, dist: string): void {
  const needed = new Set([DOOR])
  for (const path of needed) {
    const text = readFileSync(join(from, path), 'utf8')
    for (const [, named = ''] of text.matchAll(NAMED))
      needed.add(join(dirname(path), `${named}.d.ts`))
    mkdirSync(dirname(join(dist, path)), { recursive: true })
    cpSync(join(from, path), join(dist, path))
  }
}
