/** Shows a person a page: hands an address to the system's own opener, as one argument and never through a shell. */
import { spawn } from 'node:child_process'

/** How long an opener may take to say that it cannot, milliseconds. */
const REFUSAL_MS = 2_000

/** The command that opens an address on this system. */
export function openerOf(
  platform: NodeJS.Platform,
  url: string,
): { readonly command: string; readonly args: readonly string[] } {
  if (platform === 'darwin') return { command: 'open', args: [url] }
  // Not `start`: it is the shell's, which would read & and ^ within the address.
  if (platform === 'win32')
    return { command: 'rundll32', args: ['url.dll,FileProtocolHandler', url] }
  return { command: 'xdg-open', args: [url] }
}

/** Whether a browser may be sent there: https, or http on this very machine. */
export function mayOpen(text: string): boolean {
  const url = URL.parse(text)
  if (url === null || url.href.startsWith('-')) return false
  if (url.protocol === 'https:') return true
  return url.protocol === 'http:' && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)
}

/**
 * Opens a browser.
 *
 * @param environment what the opener is started with: it needs the display's variables.
 * @returns false when nothing was opened, as far as can be seen: then the person opens the address.
 */
export async function openBrowser(
  text: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<boolean> {
  if (!mayOpen(text)) return false
  // As the parser spells it: no space, quote or line break is left that an opener could take for more than one argument.
  const { command, args } = openerOf(process.platform, new URL(text).href)
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      env: environment,
      stdio: 'ignore',
      detached: true,
      windowsHide: true,
    })
    const timer = setTimeout(() => resolve(true), REFUSAL_MS)
    const settle = (opened: boolean): void => {
      clearTimeout(timer)
      resolve(opened)
    }
    child.once('error', () => settle(false))
    child.once('exit', (code) => settle(code === 0))
    child.unref()
  })
}
