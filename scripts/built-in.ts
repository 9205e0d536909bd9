/**
 * Which npm packages are part of the package's own files: read at every start, and hundreds of small files where npm puts them.
 * To npm they are development dependencies.
 */
export const BUILT_IN: readonly string[] = ['commander', 'yaml', 'zod']
