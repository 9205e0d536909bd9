/** Shares of callers as the configuration writes them, and as people read them. */

/** All of them. Shares are whole ten-thousandths. */
export const WHOLE = 10_000

/** @returns ten-thousandths; undefined for text that is no share from 0% to 100%, such as `5` or `0.001%`. */
export function parseShare(text: string): number | undefined {
  const found = /^(\d{1,3})(?:\.(\d{1,2}))?%$/.exec(text)
  if (found === null) return undefined
  const [, whole = '', part = ''] = found
  const share = Number(whole) * 100 + Number(part.padEnd(2, '0'))
  return share <= WHOLE ? share : undefined
}

/** @param share ten-thousandths. */
export function sayShare(share: number): string {
  return `${share / 100}%`
}
