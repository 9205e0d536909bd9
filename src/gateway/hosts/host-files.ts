/** Where desktop hosts keep their user-level server lists, and what stands in them. */
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { JsoncFault, parseJsonc } from './jsonc.ts'
import type { JsoncNode } from './jsonc.ts'

export type HostName = 'claude-desktop' | 'cursor'

export interface HostFile {
  readonly host: HostName
  /** As people call it. */
  readonly label: string
  readonly path: string
}

/** A host's file as it was read. */
export interface HostState extends HostFile {
  /** Symbolic links resolved: what is written. */
  readonly realPath: string
  readonly bytes: Buffer
  readonly text: string
  /** The value of `mcpServers`; undefined when there is none. */
  readonly servers?: JsoncNode
}

export interface HostPlace {
  readonly platform: NodeJS.Platform
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
}

const MAX_BYTES = 1024 * 1024

/** Every place where a host's file would be on this platform, whether it is there or not. */
export function hostFiles({ platform, home, env }: HostPlace): readonly HostFile[] {
  const claude = 'claude_desktop_config.json'
  const path =
    platform === 'darwin'
      ? join(home, 'Library', 'Application Support', 'Claude', claude)
      : platform === 'win32'
        ? join(env['APPDATA'] ?? join(home, 'AppData', 'Roaming'), 'Claude', claude)
        : join(env['XDG_CONFIG_HOME'] ?? join(home, '.config'), 'Claude', claude)
  return [
    { host: 'claude-desktop', label: 'Claude Desktop', path },
    { host: 'cursor', label: 'Cursor', path: join(home, '.cursor', 'mcp.json') },
  ]
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
    const { size } = statSync(realPath)
    if (size > MAX_BYTES) return { problem: `expected at most ${MAX_BYTES} bytes, it has ${size}` }
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
  try {
    // The mark at the beginning is kept: what is not ours to change comes back byte for byte.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    if (text.trim() === '') return { ...file, realPath, bytes, text }
    const root = parseJsonc(text)
    if (root.members === undefined) return { problem: 'it is no JSON object' }
    const found = root.members.filter(({ key }) => key === 'mcpServers')
    if (found.length > 1) return { problem: 'it has mcpServers twice' }
    const servers = found[0]?.node
    if (servers === undefined) return { ...file, realPath, bytes, text }
    if (servers.members === undefined) return { problem: 'its mcpServers is no JSON object' }
    return { ...file, realPath, bytes, text, servers }
  } catch (error) {
    if (error instanceof JsoncFault) return { problem: `it is not JSON: ${error.message}` }
    return { problem: 'it is not UTF-8 text' }
  }
}
