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
  return artifact.content.map((part) => {
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
