/**
 * Loads the command line: its source in the repository, its compiled form in the package.
 *
 * The source wins where both are, so that a stale dist never runs in a working copy. main gets the
 * arguments and sets the exit code itself.
 */
'use strict'
const { existsSync } = require('node:fs')
const module_ = require('node:module')
const { join } = require('node:path')
const { pathToFileURL } = require('node:url')

// Compiled code is kept by Node between runs; a disk that refuses costs time and nothing else.
module_.enableCompileCache()

const places = ['src/cli/main.ts', 'dist/cli/main.js'].map((path) => join(__dirname, '..', path))
const entry = places.find((path) => existsSync(path))

if (entry === undefined) {
  console.error(`comity is not whole: expected ${places.join(' or ')}. Install it again.`)
  process.exitCode = 1
} else {
  import(pathToFileURL(entry).href)
    .then(({ main }) => main(process.argv.slice(2)))
    .catch((error) => {
      console.error(error)
      process.exitCode = 1
    })
}
