/** Whether it is worth looking into JSON for something: a search of its bytes, which are not parsed to learn that it is not there. */

/** Any character of a key or a text may be written so. */
const ESCAPE = Buffer.from('\\u')

/** @param mark plain ASCII. @returns false when it stands nowhere in the JSON, however it is written. */
export function mayHold(json: Uint8Array, mark: Uint8Array): boolean {
  return holds(json, mark) || holds(json, ESCAPE)
}

function holds(bytes: Uint8Array, part: Uint8Array): boolean {
  // Buffer's search is many times that of Uint8Array.
  return Buffer.prototype.indexOf.call(bytes, part) >= 0
}
