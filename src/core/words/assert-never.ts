/** Ends a `switch` over a closed union: a new member does not compile until it is handled. */
export function assertNever(value: never): never {
  throw new Error(`not a member of the closed union: ${JSON.stringify(value)}`)
}
