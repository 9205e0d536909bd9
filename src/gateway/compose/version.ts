/** The version this package was published as. */
import { readFileSync } from 'node:fs'

export function packageVersion(): string {
  // Three folders up both from src/gateway/compose and from dist/gateway/compose.
  const file = new URL('../../../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
