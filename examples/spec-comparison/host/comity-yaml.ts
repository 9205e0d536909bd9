/**
 * The configuration of the demo's host: one documents server, one agent, one acceptance rule.
 */

/** What differs from run to run. */
export interface ConfigInput {
  /** The documents server's command line, program first. */
  readonly docs: readonly string[]
  /** Where the agent's card is. */
  readonly card: string
  /** Whether a delivery is judged; without it every delivery stays `not_judged`. */
  readonly criteria: boolean
}

/** The text of a comity.yaml. JSON strings and lists are YAML, so quoting is JSON's. */
export function writeComityYaml({ docs, card, criteria }: ConfigInput): string {
  const [command, ...args] = docs
  return [
    '# Written by the demo. Look around with: node bin/comity.js ls -c <this file>',
    'store: sqlite:./comity.db',
    '',
    'mcpServers:',
    '  docs:',
    `    command: ${JSON.stringify(command)}`,
    '    args:',
    ...args.map((arg) => `      - ${JSON.stringify(arg)}`),
    '',
    'agents:',
    '  research:',
    `    card: ${JSON.stringify(card)}`,
    '',
    ...(criteria
      ? [
          '# Completed is what the agent says; accepted is what this rule and the host say.',
          'acceptance:',
          '  research:',
          '    required: [report.md, differences.json]',
          '    mediaTypes: [text/markdown, application/json]',
          '    citations:',
          '      resolveWith: docs/read_document',
          '',
        ]
      : ['# No acceptance rule: nothing that the agent delivers is judged.', '']),
  ].join('\n')
}
