import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { docsCommand } from '../host/processes.ts'
import { FOLDERS, FROM, MANIFEST, PACKAGE, realReading, realTarget } from '../test/real-input.ts'
import { createDocuments, DocumentsError, type Documents } from './documents.ts'
import { verifyAnswer } from './target.ts'

const standIn = fileURLToPath(new URL('../test/docs-stand-in.ts', import.meta.url))

function openDocuments(command = docsCommand(FOLDERS)): Documents {
  const documents = createDocuments(command)
  onTestFinished(() => documents.close())
  return documents
}

/** A server that does what the real one would not do with these files. */
function openStandIn(...options: string[]): Documents {
  return openDocuments([process.execPath, standIn, ...options, ...FOLDERS])
}

test('the real server gives the exact bytes under the version it declares', async () => {
  const documents = openDocuments()
  for (const document of [FROM, MANIFEST]) {
    expect(await documents.read(document)).toEqual({
      state: 'read',
      reading: realReading(document),
    })
  }
})

test('a document that comes in pages is put together to its exact bytes', async () => {
  const documents = openStandIn('--page', '7')
  expect(await documents.read(FROM)).toEqual({ state: 'read', reading: realReading(FROM) })
})

test('a text that is not the file its digest names is not worked on', async () => {
  await expect(openStandIn('--cut', '40').read(FROM)).rejects.toThrow(
    /the text of .* is not the file that its digest names/,
  )
})

test('a document the server refuses is a value with the reason of the server', async () => {
  expect(await openDocuments().read('requirements/none.yaml')).toEqual({
    state: 'refused',
    problem: expect.stringContaining('no document "requirements/none.yaml"') as string,
  })
})

test('a server that cannot be started is said so', async () => {
  const documents = createDocuments([process.execPath, '-e', 'process.exit(3)'])
  await expect(documents.read(FROM)).rejects.toThrow(DocumentsError)
})

test('an answer is believed only when the manifest itself says so', async () => {
  const documents = openDocuments()
  const { citation, ...target } = realTarget()
  const verify = (answer: Parameters<typeof verifyAnswer>[2], name = PACKAGE) =>
    verifyAnswer(documents, name, answer)
  const verified = { state: 'verified', target: { ...target, citation } }
  const doubts = (problem: RegExp) => ({
    state: 'doubtful',
    problem: expect.stringMatching(problem) as string,
  })

  expect(await verify({ sdkRange: '^1.30.0', citation })).toEqual(verified)
  expect(await verify({ sdkRange: '^1.30.0' })).toEqual(verified)
  expect(await verify({ sdkRange: '^1.29.0' })).toEqual(
    doubts(/line 33 of .* declares @modelcontextprotocol\/sdk \^1\.30\.0, not \^1\.29\.0/),
  )
  expect(await verify({ sdkRange: '^1.29.0', citation })).toEqual(doubts(/declare no MCP SDK/))
  expect(await verify({ sdkRange: '^1.30.0', citation: { ...citation, quote: 'other' } })).toEqual(
    doubts(/do not read as quoted/),
  )
  const digest = realReading(FROM).digest
  expect(await verify({ sdkRange: '^1.30.0', citation: { ...citation, digest } })).toEqual(
    doubts(/not the one cited/),
  )
  const elsewhere = { ...citation, document: 'server-everything/none.json' }
  expect(await verify({ sdkRange: '^1.30.0', citation: elsewhere })).toEqual(doubts(/cannot read/))
  expect(await verify({ sdkRange: '^1.30.0', citation }, 'other')).toEqual(
    doubts(/not the manifest/),
  )
  expect(await verify({ sdkRange: '^1.30.0' }, 'other')).toEqual(doubts(/no manifest of other/))
  expect(citation.document).toBe(MANIFEST)
})
