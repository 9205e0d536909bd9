/** `comity logout <peer>`: takes back what a login granted, and forgets it. */
import { EXIT } from './exit-codes.ts'
import { withLoginDesk } from './login-target.ts'
import type { CommonOptions } from './main.ts'
import { type Terminal, visible } from './terminal.ts'

export interface LogoutOptions extends CommonOptions {
  readonly as?: string
}

export async function logout(
  options: LogoutOptions,
  terminal: Terminal,
  peer: string,
): Promise<number> {
  return withLoginDesk(options, peer, async (desk, target, signal) => {
    const out = await desk.logOut(target.principal, target.peer, signal)
    if (terminal.json) terminal.answer({ peer, principal: target.principal, loggedOut: out })
    else {
      if (out.length === 0) terminal.line(`nobody was logged in to ${visible(peer)}`)
      for (const { issuer, revoked, detail } of out) {
        const remark = revoked
          ? 'taken back there, forgotten here'
          : `forgotten here, not taken back there: ${visible(detail ?? 'no reason given')}`
        terminal.line(`✓ logged out of ${visible(peer)} at ${visible(issuer)}: ${remark}`)
      }
    }
    return EXIT.done
  })
}
