/** Where hosts keep their server lists, for each platform, and what stands in them. */
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { JsoncFault } from './jsonc.ts'
import { readJsonServers } from './json-servers.ts'
import type { ServerList } from './server-list.ts'
import { ServerListFault } from './server-list.ts'
import { readTomlServers } from './toml-servers.ts'

/** Every host whose file can be read; a project's own file is a host of its own. */
export const HOST_NAMES = [
  'claude-desktop',
  'cursor',
  'claude-code',
  'claude-code-project',
  'vscode',
  'vscode-workspace',
  'windsurf',
  'codex',
  'gemini-cli',
] as const
export type HostName = (typeof HOST_NAMES)[number]

export interface HostFile {
  readonly host: HostName
  /** As people call it. */
  readonly label: string
  readonly path: string
  /** The folder that the file belongs to; others may share it. */
  readonly project?: string
}

/** A host's file as it was read. */
export interface HostState extends HostFile {
  /** Symbolic links resolved: what is written. */
  readonly realPath: string
  readonly bytes: Buffer
  readonly text: string
  /** Its servers; undefined when it has no list of them. */
  readonly servers?: ServerList
}

export interface HostPlace {
  readonly platform: NodeJS.Platform
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** The working folder, for what a project has of its own. Default: no project is looked at. */
  readonly project?: string
}

/** Claude Code keeps more than servers in its file. */
const MAX_BYTES = 16 * 1024 * 1024

/** Every place where a host's file would be on this platform, whether it is there or not. */
export function hostFiles(place: HostPlace): readonly HostFile[] {
  const { home, env, project } = place
  const user = userFolder(place)
  const windsurf = join(home, '.codeium', 'windsurf', 'mcp_config.json')
  const files: readonly HostFile[] = [
    {
      host: 'claude-desktop',
      label: 'Claude Desktop',
      path: join(user, 'Claude', 'claude_desktop_config.json'),
    },
    { host: 'cursor', label: 'Cursor', path: join(home, '.cursor', 'mcp.json') },
    {
      host: 'claude-code',
      label: 'Claude Code',
      path: join(env['CLAUDE_CONFIG_DIR'] || home, '.claude.json'),
    },
    { host: 'vscode', label: 'VS Code', path: join(user, 'Code', 'User', 'mcp.json') },
    { host: 'windsurf', label: 'Windsurf', path: windsurf },
    {
      host: 'codex',
      label: 'Codex',
      path: join(env['CODEX_HOME'] || join(home, '.codex'), 'config.toml'),
    },
    { host: 'gemini-cli', label: 'Gemini CLI', path: join(home, '.gemini', 'settings.json') },
  ]
  if (project === undefined) return files
  return [
    ...files,
    {
      host: 'claude-code-project',
      label: 'Claude Code in this project',
      path: join(project, '.mcp.json'),
      project,
    },
    {
      host: 'vscode-workspace',
      label: 'VS Code in this workspace',
      path: join(project, '.vscode', 'mcp.json'),
      project,
    },
  ]
}

/** Where desktop programs keep what is the user's. */
function userFolder({ platform, home, env }: HostPlace): string {
  if (platform === 'darwin') return join(home, 'Library', 'Application Support')
  if (platform === 'win32') return env['APPDATA'] ?? join(home, 'AppData', 'Roaming')
  return env['XDG_CONFIG_HOME'] || join(home, '.config')
}

/**
 * Reads one host's file.
 *
 * @returns undefined when it is not there; `problem` in words when it cannot be used, without quoting it.
 */
export function readHostFile(file: HostFile): HostState | { readonly problem: string } | undefined {
  if (!existsSync(file.path)) return undefined
  try {
    const realPath = realpathSync(file.path)
    const stats = statSync(realPath)
    if (!stats.isFile()) return { problem: 'it is not a file' }
    if (stats.size > MAX_BYTES)
      return { problem: `expected at most ${MAX_BYTES} bytes, it has ${stats.size}` }
    const bytes = readFileSync(realPath)
    return readHostBytes(file, realPath, bytes)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable'
    return { problem: `it cannot be read (${code})` }
  }
}

/** As `readHostFile`, from bytes in hand. */
export function readHostBytes(
  file: HostFile,
  realPath: string,
  bytes: Buffer,
): HostState | { readonly problem: string } {
  let text: string
  try {
    // The mark at the beginning is kept: what is not ours to change comes back byte for byte.
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return { problem: 'it is not UTF-8 text' }
  }
  try {
    const servers = text.trim() === '' ? undefined : readServers(file.host, text)
    return { ...file, realPath, bytes, text, ...(servers === undefined ? {} : { servers }) }
  } catch (error) {
    if (error instanceof JsoncFault) return { problem: `it is not JSON: ${error.message}` }
    if (error instanceof ServerListFault) return { problem: error.message }
    throw error
  }
}

function readServers(host: HostName, text: string): ServerList | undefined {
  switch (host) {
    case 'vscode':
    case 'vscode-workspace':
      return readJsonServers(text, 'servers')
    case 'codex':
      return readTomlServers(text)
    case 'claude-code':
      return readJsonServers(text, 'mcpServers', { projects: true })
    case 'claude-desktop':
    case 'cursor':
    case 'claude-code-project':
    case 'windsurf':
    case 'gemini-cli':
      return readJsonServers(text, 'mcpServers')
  }
}
