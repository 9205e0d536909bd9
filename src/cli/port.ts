/** A port as an option gives it. Apart from the commands that take one: none of them is to load what the other serves. */
import { ComityError } from '../gateway/admin/errors.ts'

/** @throws ComityError `usage` */
export function portOf(value: string): number {
  const port = Number(value)
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new ComityError(
      'usage',
      `a port is a whole number from 0 to 65535, got ${JSON.stringify(value)}`,
    )
  return port
}
