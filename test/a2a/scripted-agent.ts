/** A raw scripted A2A agent: a card, and one script for everything else. */
import { openRawPeer, type RawPeer, type RawRequest, replyJson, type Script } from './raw-peer.ts'

export interface ScriptedAgent extends RawPeer {
  readonly cardUrl: string
}

export interface AgentShape {
  readonly streaming?: boolean
  readonly tenant?: string
  /** Where the interface lies instead of here. */
  readonly interfaceUrl?: string
}

export function cardOf(origin: string, shape: AgentShape = {}): Record<string, unknown> {
  return {
    name: 'Scripted',
    description: 'Does what a test says',
    version: '1.0.0',
    supportedInterfaces: [
      {
        url: shape.interfaceUrl ?? `${origin}/a2a`,
        protocolBinding: 'JSONRPC',
        protocolVersion: '1.0',
        ...(shape.tenant === undefined ? {} : { tenant: shape.tenant }),
      },
    ],
    capabilities: { streaming: shape.streaming ?? false },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 's', name: 'S', description: 'S', tags: ['t'] }],
  }
}

export async function openScriptedAgent(
  shape: AgentShape,
  script: Script,
  port = 0,
): Promise<ScriptedAgent> {
  const peer: RawPeer = await openRawPeer((request, response) => {
    if (request.path.startsWith('/.well-known/')) {
      return replyJson(response, 200, cardOf(peer.origin, shape))
    }
    return script(request, response)
  }, port)
  return Object.assign(peer, { cardUrl: `${peer.origin}/` })
}

export function taskOf(state: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return { id: 'T1', contextId: 'X1', status: { state: `TASK_STATE_${state}` }, ...more }
}

/** Parameters of the requests of one method, in order. */
export function paramsOf(peer: RawPeer, method: string): RawRequest['json']['params'][] {
  return peer.seen.flatMap(({ json }) => (json.method === method ? [json.params] : []))
}
