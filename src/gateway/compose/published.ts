/** Published agents: which tool stands behind each skill, as far as this principal may see it. */
import type { A2aDoorPorts } from '../../a2a/downstream/server.ts'
import type { HostParts } from '../admin/parts.ts'

export function publishedPorts({
  config,
  catalogue,
  policy,
  begin,
  resume,
  store,
  version,
}: HostParts): A2aDoorPorts {
  return {
    agents: config.publish.map((agent) => ({ ...agent, version })),
    async route(agent, skillId, principal) {
      const skill = config.publish
        .find((one) => one.name === agent)
        ?.skills.find((one) => one.id === skillId)
      if (skill === undefined) return undefined
      const row = await catalogue.find(skill.route.peer, skill.route.capability, ['tool'])
      if (row === undefined || !policy.visible(principal, row.route)) return undefined
      const definition = row.definition.value()
      const inputSchema =
        typeof definition === 'object' && definition !== null && 'inputSchema' in definition
          ? definition.inputSchema
          : undefined
      return { route: row.route, ...(inputSchema === undefined ? {} : { inputSchema }) }
    },
    begin,
    desk: resume,
    tasks: store.tasks,
  }
}
