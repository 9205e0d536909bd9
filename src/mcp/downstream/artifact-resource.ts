/** Artifacts as resources: `comity://artifacts/<task>/<artifact>`, readable by the task's owner only. */
import type { Artifact, ArtifactPart } from '../../core/words/artifact.ts'
import type { Principal } from '../../core/words/principal.ts'
import { badParams, ourResult, type Answer } from './answer.ts'
import type { Delegation } from './options.ts'

const ARTIFACT_URI = /^comity:\/\/artifacts\/([^/?#]+)\/([^/?#]+)$/

/** Where an artifact can be read. */
export function artifactUri(taskId: string, artifactId: string): string {
  return `comity://artifacts/${encodeURIComponent(taskId)}/${encodeURIComponent(artifactId)}`
}

/** @returns undefined when the URI is no artifact's. */
export async function readArtifact(
  delegation: Delegation,
  uri: string,
  principal: Principal,
): Promise<Answer | undefined> {
  const match = ARTIFACT_URI.exec(uri)
  if (match === null) return undefined
  const taskId = decode(match[1] ?? '')
  const artifactId = decode(match[2] ?? '')
  const artifact =
    taskId === undefined || artifactId === undefined
      ? undefined
      : await delegation.artifact(taskId, artifactId, principal)
  if (artifact === undefined || artifact.content.length === 0) {
    return badParams(`resource not found: ${uri.slice(0, 500)}`, { uri: uri.slice(0, 8192) })
  }
  return ourResult({ contents: contentsOf(artifact, uri) })
}

function contentsOf(artifact: Artifact, uri: string): readonly object[] {
  return joinChunks(artifact.content).map((part) => {
    const mimeType = part.mediaType ?? artifact.mediaType ?? defaultType(part)
    switch (part.kind) {
      case 'text':
        return { uri, mimeType, text: part.text }
      case 'data':
        return { uri, mimeType: part.mediaType ?? 'application/json', text: part.json }
      case 'url':
        // Never fetched here: the link itself is the content.
        return { uri, mimeType: 'text/uri-list', text: part.url }
      case 'raw':
        return { uri, mimeType, blob: Buffer.from(part.bytes).toString('base64') }
    }
  })
}

/** What came in chunks is one content: neighbours of one kind and type are joined, as everywhere else. */
function joinChunks(content: readonly ArtifactPart[]): readonly ArtifactPart[] {
  const runs: ArtifactPart[][] = []
  for (const part of content) {
    const run = runs.at(-1)
    const joins =
      (part.kind === 'text' || part.kind === 'raw') &&
      run?.[0]?.kind === part.kind &&
      run[0].mediaType === part.mediaType
    if (joins) run.push(part)
    else runs.push([part])
  }
  return runs.flatMap((run) => joinRun(run))
}

function joinRun(run: readonly ArtifactPart[]): readonly ArtifactPart[] {
  const [first] = run
  if (first?.kind === 'text') {
    return [{ ...first, text: run.map((part) => (part.kind === 'text' ? part.text : '')).join('') }]
  }
  if (first?.kind !== 'raw') return run
  const bytes = Buffer.concat(run.flatMap((part) => (part.kind === 'raw' ? [part.bytes] : [])))
  return [{ ...first, bytes }]
}

function defaultType(part: ArtifactPart): string {
  return part.kind === 'text' ? 'text/plain' : 'application/octet-stream'
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
