/**
 * Is this the Node that the repository brings? It is a development dependency, so that everybody
 * runs the same one; npm scripts find it first. Plain JavaScript, because an older Node reads it too.
 */
'use strict'
const wanted = 'v' + require('../package.json').devDependencies.node

/** Says in one line what is wrong with a Node; undefined when it is the one that package.json names. */
function ownNodeComplaint(version) {
  if (version === wanted) return undefined
  const found = version + ' (' + process.execPath + ')'
  return (
    'expected Node ' +
    wanted +
    ', which this repository brings, got ' +
    found +
    '; run "npm ci" first'
  )
}

module.exports = { ownNodeComplaint: ownNodeComplaint }

if (require.main === module) {
  const complaint = ownNodeComplaint(process.version)
  if (complaint !== undefined) {
    console.error(complaint)
    process.exitCode = 1
  }
}
