#!/usr/bin/env node
/**
 * The door. Plain JavaScript for any Node there is, so that an old one gets a sentence and not a
 * syntax error. Only a Node that can run comity ever reads start.js.
 */
'use strict'
const complain = require('./requirement.js').complain

const complaint = complain(process.version, process.execPath, __filename)
if (complaint === undefined) {
  require('./start.js')
} else {
  console.error(complaint)
  process.exitCode = 2
}
