import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { Agent, request } from 'undici'
import { Authority } from '../../scripts/controlplane/pki.ts'
import { waitUntil } from '../../scripts/controlplane/request.ts'
import { createTokenVerifier, type TokenVerifier } from '../../src/api/callers/tokens.ts'
import { systemClock } from '../../src/core/clock.ts'
import { silentLog } from '../../src/core/log.ts'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import { PlatformClient } from '../../src/crds/identity.ts'
import { crdManifest } from '../../src/crds/manifest.ts'
import { RoleAssignment } from '../../src/crds/rbac.ts'
import { firstOwner } from '../../src/identity/firstOwner.ts'
import {
  createIdentityProvider,
  kubeClientStore,
  kubeUserStore,
  openSigningKeys,
  secretKeyStore,
  secretPasswords,
  secretStateStore,
  startIdentityServers,
} from '../../src/identity/index.ts'
import { KEYS_SECRET } from '../../src/identity/keyStore.ts'
import type { IdentityProvider } from '../../src/identity/provider.ts'
import type { IdentityServers } from '../../src/identity/servers.ts'
import type { SigningKeys } from '../../src/identity/signingKeys.ts'
import { secret } from '../../src/kube/builtin.ts'
import { createKubeClient, type KubeClient } from '../../src/kube/client.ts'
import { installManifests } from '../../src/kube/crds.ts'
import { loadKubeconfig } from '../../src/kubeconfig/kubeconfig.ts'
import { startOwnControlPlane, type TestControlPlane } from '../cluster/index.ts'
import { ManualClock } from '../make/clock.ts'
import { PATIENCE } from '../make/until.ts'

const AUDIENCE = 'platform-kubernetes-client'
const REALM = 'freehold'
const HOUR = 3_600_000
const DAY = 24 * HOUR

describe('tokens of the local identity provider', () => {
  const clientId = randomUUID()
  const clientSecret = randomBytes(32).toString('base64url')
  /** Only keys follow this clock: tokens have the real time. */
  const keyClock = new ManualClock(Date.now())
  let folder: string
  let servers: IdentityServers
  let controlPlane: TestControlPlane
  let client: KubeClient
  let keys: SigningKeys
  let replicaKeys: SigningKeys
  let provider: IdentityProvider
  let verifier: TokenVerifier
  let agent: Agent

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-identity-'))
    const authority = await Authority.open(folder, 'ca')
    const pair = await authority.issue({ commonName: 'identity', purpose: 'server', names: ['127.0.0.1'] })
    // The API server must know the issuer's address before anything can issue tokens.
    let serve: RequestListener = (_request, response) => response.writeHead(503).end()
    servers = await startIdentityServers({
      handler: (incoming, response) => serve(incoming, response),
      tls: { port: 0, readCertificate: async () => ({ cert: pair.certPem, key: pair.keyPem }) },
      http: { port: 0 },
      clock: systemClock,
      log: silentLog,
    })
    const issuer = `https://127.0.0.1:${servers.tlsPort}/realms/${REALM}`
    controlPlane = await startOwnControlPlane({
      oidc: { issuerUrl: issuer, caPem: authority.certPem, audience: AUDIENCE },
    })
    agent = new Agent({ connect: { ca: controlPlane.caPem } })
    client = createKubeClient(loadKubeconfig(controlPlane.kubeconfigPath), { fieldManager: 'test', userAgent: 'test' })
    await installManifests(client, [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SYSTEM_NAMESPACE } },
      crdManifest(PlatformClient),
      crdManifest(RoleAssignment),
      ...firstOwner({ clientId, clientSecret, displayName: 'First owner' }),
    ])
    const openKeys = () =>
      openSigningKeys({ store: secretKeyStore(client), clock: keyClock, log: silentLog, tokenLifetimeSeconds: 900 })
    ;[keys, replicaKeys] = await Promise.all([openKeys(), openKeys()])
    provider = createIdentityProvider({
      issuer,
      realm: REALM,
      audience: AUDIENCE,
      clients: kubeClientStore(client),
      users: kubeUserStore(client, () => []),
      passwords: secretPasswords(client),
      state: secretStateStore(client),
      keys,
      // The API server asks again 30 s before this ends: here, after a second.
      keysMaxAgeSeconds: 31,
      log: silentLog,
    })
    serve = provider.handler
    verifier = createTokenVerifier({
      issuer,
      audience: AUDIENCE,
      jwksUrl: `${issuer}/protocol/openid-connect/certs`,
      certificateAuthority: () => authority.certPem,
      log: silentLog,
    })
    // The API server looks for its issuer in its own time, every 10 s.
    await untilAccepted(await token())
  })

  after(async () => {
    await verifier?.stop()
    provider?.stop()
    keys?.stop()
    replicaKeys?.stop()
    await client?.close()
    await agent?.destroy()
    await controlPlane?.stop()
    await servers?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  async function ask(id: string, password: string): Promise<{ status: number; body: Record<string, string> }> {
    const url = `http://127.0.0.1:${servers.httpPort}/realms/${REALM}/protocol/openid-connect/token`
    const form = new URLSearchParams({ grant_type: 'client_credentials', client_id: id, client_secret: password })
    const answer = await request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: form.toString(),
    })
    return { status: answer.statusCode, body: (await answer.body.json()) as Record<string, string> }
  }
  async function token(): Promise<string> {
    const { status, body } = await ask(clientId, clientSecret)
    expect(status, JSON.stringify(body)).to.equal(200)
    return body.access_token ?? ''
  }
  async function whoIs(accessToken: string) {
    const answer = await request(`${controlPlane.apiServerUrl}/apis/authentication.k8s.io/v1/selfsubjectreviews`, {
      dispatcher: agent,
      method: 'POST',
      headers: { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }),
    })
    const review = (await answer.body.json()) as { status: { userInfo?: { username: string; uid: string } } }
    return { status: answer.statusCode, user: review.status.userInfo }
  }
  const untilAccepted = (accessToken: string) =>
    waitUntil(
      'the token to be accepted',
      PATIENCE,
      async () => (await whoIs(accessToken)).status === 201,
      controlPlane.failed,
    )
  const kidOf = (accessToken: string) => decodeProtectedHeader(accessToken).kid

  it('authenticate their principal at the API server', async () => {
    const accessToken = await token()
    expect((await whoIs(accessToken)).user).to.include({ username: `p:${clientId}`, uid: clientId })
    expect(decodeJwt(accessToken)).to.include({ aud: AUDIENCE, typ: 'Bearer', name: 'First owner' })
  })

  it('authenticate their principal at the facade', async () => {
    expect(await verifier.verify(`Bearer ${await token()}`)).to.include({
      principalId: clientId,
      principalType: 'ServicePrincipal',
      displayName: 'First owner',
    })
  })

  it('are rejected by the API server if they are malformed or altered', async () => {
    const [header, payload, signature = ''] = (await token()).split('.')
    const altered = signature.startsWith('A') ? `B${signature.slice(1)}` : `A${signature.slice(1)}`
    for (const wrong of ['garbage', `${header}.${payload}.`, `${header}.${payload}.${altered}`]) {
      expect((await whoIs(wrong)).status, wrong.slice(0, 20)).to.equal(401)
    }
  })

  it('are not issued for a wrong secret', async () => {
    const { status, body } = await ask(clientId, 'wrong')
    expect({ status, error: body.error }).to.deep.equal({ status: 401, error: 'invalid_client' })
  })

  it('are signed with the same key by every replica', () => {
    expect(replicaKeys.signing().kid).to.equal(keys.signing().kid)
  })

  it('stay valid while keys rotate, without a restart', async () => {
    const before = await token()
    keyClock.freeze(30 * DAY - HOUR)
    await keys.check()
    await replicaKeys.check()
    expect(keys.ring()).to.have.length(2)
    expect(kidOf(await token()), 'published, not yet in use').to.equal(kidOf(before))

    keyClock.freeze(HOUR)
    const after = await token()
    expect(kidOf(after)).to.not.equal(kidOf(before))
    expect(replicaKeys.signing().kid).to.equal(kidOf(after))
    await untilAccepted(after)
    expect((await whoIs(before)).status, 'the old key').to.equal(201)
  })

  it('are signed with a new key when the stored keys are deleted, and old ones are rejected', async () => {
    const before = await token()
    await client.remove(secret, { namespace: SYSTEM_NAMESPACE, name: KEYS_SECRET })
    await keys.check()
    const after = await token()
    expect(kidOf(after)).to.not.equal(kidOf(before))
    await untilAccepted(after)
    const refused = async () => (await whoIs(before)).status === 401
    await waitUntil('the old key to be rejected', PATIENCE, refused, controlPlane.failed)
  })

  it('are not issued to a disabled or deleted client', async () => {
    const ref = { namespace: SYSTEM_NAMESPACE, name: clientId }
    await client.mergePatch(PlatformClient.resource, ref, { spec: { isEnabled: false } })
    expect((await ask(clientId, clientSecret)).status).to.equal(401)
    await client.mergePatch(PlatformClient.resource, ref, { spec: { isEnabled: true } })
    expect((await ask(clientId, clientSecret)).status).to.equal(200)
    await client.remove(PlatformClient.resource, ref)
    expect((await ask(clientId, clientSecret)).status).to.equal(401)
  })
})
