/** A process that shares the tokens of a store: says `ready`, sends one message when it is told to, says what came of it. */
import { once } from 'node:events'
import { createLoginDesk } from '../../src/gateway/auth/login-desk.ts'
import { send } from './send.fixture.ts'

const [store = '', url = ''] = process.argv.slice(2)
const desk = createLoginDesk({ store, now: Date.now })
const auth = { grant: 'authorization_code' as const, scopes: [] }
const credentials = desk.credentialsOf({ name: 'docs', url, auth })
process.stdout.write('ready\n')
await once(process.stdin, 'data')
const { status, times } = await send(credentials, url)
process.stdout.write(`${JSON.stringify({ status, times })}\n`)
desk.close()
process.stdin.destroy()
