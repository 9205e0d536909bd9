/** The one place below the command line where this process's environment is read. */
export function processEnvironment(): Readonly<Record<string, string | undefined>> {
  return process.env
}
