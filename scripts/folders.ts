/**
 * Who may import whom: the table of the house, as data.
 *
 * A folder that is not listed may not exist under src. Everything not allowed here is refused, for
 * types as well as for values, except where `typesFrom` says otherwise.
 */

/** What the files of one folder may import, besides each other. */
export interface FolderRule {
  /** Folders, or folders within folders. */
  readonly folders: readonly string[]
  /** Folders from which only `import type` is allowed. */
  readonly typesFrom?: readonly string[]
  /** npm packages by name. */
  readonly npm: readonly string[]
  /** Node's own modules, always by their `node:` name. */
  readonly node: boolean
}

/** Folder under src to what it may import. `index.ts` is the published library door. */
export const FOLDERS: Readonly<Record<string, FolderRule>> = {
  core: { folders: [], npm: [], node: false },
  mcp: { folders: ['core'], npm: ['eventsource-parser', 'undici'], node: true },
  a2a: { folders: ['core'], npm: ['eventsource-parser', 'undici'], node: true },
  functions: { folders: ['core'], npm: ['undici'], node: true },
  bridge: { folders: ['core'], typesFrom: ['mcp/wire', 'a2a/wire'], npm: [], node: false },
  models: { folders: ['core'], npm: [], node: false },
  documents: { folders: ['core', 'mcp/downstream'], npm: ['parse5', 'yaml', 'zod'], node: true },
  store: { folders: ['core'], npm: [], node: true },
  gateway: {
    folders: ['core', 'mcp', 'a2a', 'functions', 'bridge', 'models', 'documents', 'store'],
    npm: [
      '@marcbachmann/cel-js',
      'ajv',
      'ajv-formats',
      'ipaddr.js',
      'jose',
      'oauth4webapi',
      're2js',
      'smol-toml',
      'undici',
      'yaml',
      'zod',
    ],
    node: true,
  },
  cli: { folders: ['gateway'], npm: ['commander'], node: true },
  testkit: {
    folders: ['core', 'mcp', 'a2a', 'store'],
    npm: ['eventsource-parser', 'undici'],
    node: true,
  },
  'index.ts': { folders: ['core', 'gateway'], npm: [], node: false },
}

/** Where `process.env` may be read. Everywhere else a setting arrives as an argument. */
export const READS_ENVIRONMENT: readonly string[] = ['cli', 'gateway/config']

/** Comments that would switch a rule off for a line or a file. */
export const SWITCHES_OFF =
  /\b(?:oxlint|eslint)-(?:disable|enable)|@ts-(?:ignore|expect-error|nocheck)|\b(?:oxfmt|prettier)-ignore/

/** The most lines that a source file may have. */
export const MAX_LINES = 500
