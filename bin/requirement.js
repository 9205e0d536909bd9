/** Which Node comity runs on. Plain JavaScript for any Node there is, like the door that asks. */
'use strict'

/** The same as `engines` in package.json; a test holds them together. */
const NEEDED = [22, 18]

/**
 * One line for whoever started comity on too old a Node: what it needs, what it found, how to get it.
 *
 * Undefined when the version will do.
 */
function complain(version, execPath, entry) {
  const parts = /^v?(\d+)\.(\d+)/.exec(version)
  if (parts !== null) {
    const major = Number(parts[1])
    const minor = Number(parts[2])
    if (major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1])) return undefined
  }
  return (
    'comity needs Node.js ' +
    NEEDED.join('.') +
    ' or newer and was started by ' +
    version +
    ' (' +
    execPath +
    '). Install one with "npm install --global node@26" or from https://nodejs.org, or for this once run: npx -p node@26 node ' +
    JSON.stringify(entry) +
    ' <arguments>'
  )
}

module.exports = { complain: complain, NEEDED: NEEDED }
