/**
 * Text of peers made fit for a person's eyes: every character that shows nothing, or changes how others show, is
 * written out as `\u{...}`.
 */

/** Controls, formats (bidi, zero width, tags), separators, unassigned; odd spaces, fillers, variation selectors. */
const HIDDEN =
  /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}|\u034f|[\u115f\u1160]|\u17b4|\u17b5|[\u2800\u3164\uffa0]|[\u{fe00}-\u{fe0f}\u{e0100}-\u{e01ef}]/gu

/** One line of text with nothing hidden in it. */
export function visibleText(text: string): string {
  return text.replaceAll(HIDDEN, (character) => {
    const code = character.codePointAt(0) ?? 0
    return `\\u{${code.toString(16).padStart(4, '0')}}`
  })
}

/** As `visibleText`, cut to a length, in characters. */
export function visibleStart(text: string, length: number): string {
  const cut = Array.from(text.slice(0, length * 2)).slice(0, length)
  const shown = visibleText(cut.join(''))
  return cut.join('').length < text.length ? `${shown}…` : shown
}
