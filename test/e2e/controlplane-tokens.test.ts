import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { Agent, request } from 'undici'
import { Authority } from '../../scripts/controlplane/pki.ts'
import { waitUntil } from '../../scripts/controlplane/request.ts'
import { startOwnControlPlane, type TestControlPlane } from '../cluster/index.ts'
import { PATIENCE } from '../make/until.ts'

const SUBJECT = '3f1f8c0e-3f6e-4a53-9d8d-0d6c1a7e2b11'
const AUDIENCE = 'freehold'

describe('access tokens at the API server', () => {
  let folder: string
  let issuer: Server
  let issuerUrl: string
  let controlPlane: TestControlPlane
  let agent: Agent
  let keys: Awaited<ReturnType<typeof generateKeyPair>>

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-issuer-'))
    keys = await generateKeyPair('RS256')
    const authority = await Authority.open(folder, 'ca')
    const { certPem, keyPem } = await authority.issue({ commonName: 'issuer', purpose: 'server', names: ['127.0.0.1'] })
    const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'k1', alg: 'RS256', use: 'sig' }
    issuer = createServer({ cert: certPem, key: keyPem }, (incoming, answer) => {
      const discovery = {
        issuer: issuerUrl,
        jwks_uri: `${issuerUrl}/jwks`,
        id_token_signing_alg_values_supported: ['RS256'],
      }
      answer.setHeader('content-type', 'application/json')
      answer.end(JSON.stringify(incoming.url?.endsWith('/jwks') ? { keys: [jwk] } : discovery))
    })
    await new Promise<void>((done) => issuer.listen(0, '127.0.0.1', done))
    issuerUrl = `https://127.0.0.1:${(issuer.address() as AddressInfo).port}/realms/freehold`
    controlPlane = await startOwnControlPlane({ oidc: { issuerUrl, caPem: authority.certPem, audience: AUDIENCE } })
    agent = new Agent({ connect: { ca: controlPlane.caPem } })
    // The API server fetches the issuer's keys at its own pace.
    const accepted = async () => (await whoIs(await tokenOf({}))).status === 201
    await waitUntil('the first accepted token', PATIENCE, accepted, controlPlane.failed)
  })
  after(async () => {
    await agent?.destroy()
    await controlPlane?.stop()
    issuer?.close()
    await rm(folder, { recursive: true, force: true })
  })

  const tokenOf = (change: JWTPayload) => {
    const now = Math.floor(Date.now() / 1000)
    const claims = { iss: issuerUrl, aud: AUDIENCE, sub: SUBJECT, iat: now, exp: now + 300, typ: 'Bearer', ...change }
    return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'k1' }).sign(keys.privateKey)
  }
  const whoIs = async (token: string) => {
    const answer = await request(`${controlPlane.apiServerUrl}/apis/authentication.k8s.io/v1/selfsubjectreviews`, {
      dispatcher: agent,
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }),
    })
    const review = (await answer.body.json()) as {
      status: { userInfo?: { username: string; uid: string; groups: string[] } }
    }
    return { status: answer.statusCode, user: review.status.userInfo }
  }

  it('authenticates the subject as p:<subject>, and ignores groups that the token claims', async () => {
    const { user } = await whoIs(await tokenOf({ groups: ['system:masters'] }))
    expect(user).to.deep.include({
      username: `p:${SUBJECT}`,
      uid: SUBJECT,
      groups: ['freehold:principals-3', 'system:authenticated'],
    })
  })

  const now = () => Math.floor(Date.now() / 1000)
  const refused: [string, () => JWTPayload][] = [
    ['an ID token', () => ({ typ: 'ID' })],
    ['a token without typ', () => ({ typ: undefined })],
    ['a token for another audience', () => ({ aud: 'other' })],
    ['a token of another issuer', () => ({ iss: 'https://127.0.0.1:1/realms/freehold' })],
    ['an expired token', () => ({ iat: now() - 600, exp: now() - 300 })],
    ['a token that is valid for more than a day', () => ({ exp: now() + 86_401 })],
  ]
  for (const [title, change] of refused) {
    it(`rejects ${title} with 401`, async () => expect((await whoIs(await tokenOf(change()))).status).to.equal(401))
  }
})
