/**
 * The agent's card: who it is, where it is, and what it can be asked.
 */
import type { AgentCard } from '@a2a-js/sdk'

/** Where the JSON-RPC endpoint is, under the agent's own address. */
export const RPC_PATH = '/a2a'

/** The card of an agent that is reached at this origin, such as `http://127.0.0.1:7900`. */
export function createCard(origin: string): AgentCard {
  return {
    name: 'Specification comparison',
    description:
      'Compares two versions of a requirement list row by row and says which changes touch a given package, with a citation for every statement. Works without a model.',
    version: '1.0.0',
    supportedInterfaces: [
      { url: origin + RPC_PATH, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' },
    ],
    provider: undefined,
    capabilities: { streaming: true, pushNotifications: false, extensions: [] },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: ['application/json', 'text/plain'],
    defaultOutputModes: ['text/markdown', 'application/json'],
    skills: [
      {
        id: 'compare-requirements',
        name: 'Compare two requirement lists',
        description:
          'Send the brief as a data part: { goal, scope: { from, to, target: { package, sdkRange?, citation? } }, acceptance? }. Without sdkRange the agent asks for it. Delivers report.md and differences.json.',
        tags: ['comparison', 'specification', 'conformance'],
        examples: ['What changes for this server between revisions 2025-11-25 and 2026-07-28?'],
        inputModes: [],
        outputModes: [],
        securityRequirements: [],
      },
    ],
    signatures: [],
  }
}
