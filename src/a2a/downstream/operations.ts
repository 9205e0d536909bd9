/**
 * From a request to its operation: version first, then the method, then what the card declares.
 *
 * @source A2A 1.0.1, 3.3.4 (capability gates), 3.6 (versions)
 */
import { A2A_VERSION, METHODS, type MethodName, parseVersion } from '../wire/rev-1-0.ts'
import { paramsFault, protocolFault, rpcFault, type RpcFault } from './errors.ts'
import type { A2aDesk } from './options.ts'
import type { RpcAnswer } from './rpc.ts'
import { sendMessage } from './send.ts'
import { cancelTask, getTask } from './tasks.ts'
import type { Visit } from './visit.ts'

type Operation = (desk: A2aDesk, visit: Visit) => RpcAnswer | Promise<RpcAnswer>

const noPush: Operation = () => protocolFault('PUSH_NOTIFICATION_NOT_SUPPORTED')
const noStream: Operation = () =>
  protocolFault('UNSUPPORTED_OPERATION', 'streaming is not declared; use SendMessage and GetTask')

const OPERATIONS = {
  SendMessage: sendMessage,
  GetTask: getTask,
  CancelTask: cancelTask,
  SendStreamingMessage: noStream,
  SubscribeToTask: noStream,
  ListTasks: () => protocolFault('UNSUPPORTED_OPERATION', 'tasks are read one by one, by GetTask'),
  CreateTaskPushNotificationConfig: noPush,
  GetTaskPushNotificationConfig: noPush,
  ListTaskPushNotificationConfigs: noPush,
  DeleteTaskPushNotificationConfig: noPush,
  GetExtendedAgentCard: () =>
    protocolFault('UNSUPPORTED_OPERATION', 'no extended card is declared'),
} as const satisfies Record<MethodName, Operation>

/** Serves one request. @param version the A2A-Version header or query parameter as it came. */
export async function answerRequest(
  desk: A2aDesk,
  visit: Visit,
  version: string | undefined,
): Promise<RpcAnswer> {
  const refused = refuseVersion(version)
  if (refused !== undefined) return refused
  const method = Object.values(METHODS).find((name) => name === visit.request.method)
  if (method === undefined) {
    const given = JSON.stringify(visit.request.method.slice(0, 80))
    return rpcFault('methodNotFound', `no method ${given}; A2A ${A2A_VERSION} is served here`)
  }
  return refuseTenant(visit.request.params) ?? OPERATIONS[method](desk, visit)
}

function refuseVersion(given: string | undefined): RpcFault | undefined {
  const asked = parseVersion(given)
  if (asked.kind === 'version' && asked.version === A2A_VERSION) return undefined
  const got =
    asked.kind === 'unreadable'
      ? `${JSON.stringify(asked.got)} is no version`
      : given === undefined || given.trim() === ''
        ? 'no A2A-Version was given, which means 0.3'
        : `${asked.version} is not served`
  return protocolFault('VERSION_NOT_SUPPORTED', `${got}; send A2A-Version: ${A2A_VERSION}`, {
    supportedVersions: A2A_VERSION,
  })
}

/** Routing that is not understood must not be passed over: no card of ours has a tenant. */
function refuseTenant(params: unknown): RpcFault | undefined {
  if (typeof params !== 'object' || params === null || !('tenant' in params)) return undefined
  const { tenant } = params
  if (tenant === '' || tenant === null || typeof tenant !== 'string') return undefined
  return paramsFault([{ path: 'tenant', message: 'this interface has none; leave it out' }])
}
