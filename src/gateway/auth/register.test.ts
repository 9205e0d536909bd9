import { expect, test } from 'vitest'
import { connectPeer, redirectUri } from './authorization-server.fixture.ts'
import type { Answer } from './http-server.fixture.ts'

test('a client that the server forgot is forgotten here too, and nobody else’s newer one', async () => {
  const words = { token: { status: 401, json: { error: 'invalid_client' } } }
  const { server, begin, refresh, clients, peer } = await connectPeer(
    { grant: 'authorization_code' },
    words,
  )
  const { pending } = await begin()
  expect(clients.kept.size).toBe(1)
  expect(await refresh({ clientId: pending.client.id })).toMatchObject({ code: 'invalid_client' })
  expect(clients.kept.size).toBe(0)
  clients.saveClient(peer.name, { ...pending.client, id: 'newer' })
  expect(await refresh({ clientId: pending.client.id })).toMatchObject({ kind: 'revoked' })
  expect(clients.loadClient(server.url, peer.name)?.id).toBe('newer')
})

test.each<[string, Answer, string, string]>([
  [
    'a refusal',
    { status: 400, json: { error: 'invalid_redirect_uri' } },
    'client_needed',
    'set auth.client.id and auth.issuer',
  ],
  ['no client id', { status: 201, json: {} }, 'rejected', 'has to have a client_id'],
  [
    'another redirect URI',
    { status: 201, json: { client_id: 'x', redirect_uris: ['https://evil.example'] } },
    'rejected',
    'has to keep the redirect URI',
  ],
  [
    'a method that we have not',
    { status: 201, json: { client_id: 'x', token_endpoint_auth_method: 'tls_client_auth' } },
    'rejected',
    'that was offered',
  ],
  ['a fault', { status: 500, text: '' }, 'unreachable', 'answered 500'],
])('a registration that is answered with %s', async (_name, register, reason, message) => {
  const { begin, clients } = await connectPeer({ grant: 'authorization_code' }, { register })
  await expect(begin()).rejects.toMatchObject({ reason, message: expect.stringContaining(message) })
  expect(clients.kept.size).toBe(0)
})

test('where nobody registers by itself the operator is told what to configure; a document of ours goes before', async () => {
  const metadata = { registration_endpoint: undefined, client_id_metadata_document_supported: true }
  const bare = await connectPeer({ grant: 'authorization_code' }, { metadata })
  await expect(bare.begin()).rejects.toMatchObject({
    reason: 'client_needed',
    message: expect.stringMatching(/auth\.client\.id and auth\.issuer .*auth\.metadataUrl/u),
  })
  const metadataUrl = 'https://comity.example/client.json'
  const ours = await connectPeer(
    { grant: 'authorization_code', metadataUrl },
    { metadata: { client_id_metadata_document_supported: true } },
  )
  const { pending } = await ours.begin()
  expect(pending.client).toMatchObject({ id: metadataUrl, method: 'none' })
  expect(ours.server.lines()).not.toContain('POST /register')
})

test('a registration says what kind of client this is, and takes the secret that it gets', async () => {
  const { server, begin } = await connectPeer(
    { grant: 'authorization_code' },
    {
      metadata: { token_endpoint_auth_methods_supported: undefined },
      register: {
        status: 201,
        json: { client_id: 'x', client_secret: 's', client_secret_expires_at: 2000 },
      },
    },
  )
  const { pending } = await begin()
  expect(JSON.parse(server.asked.at(-1)?.body ?? '')).toEqual({
    client_name: 'comity',
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'client_secret_basic',
    application_type: 'native',
  })
  expect(pending.client).toMatchObject({
    secret: 's',
    method: 'client_secret_basic',
    expiresAt: 2_000_000,
  })
})
