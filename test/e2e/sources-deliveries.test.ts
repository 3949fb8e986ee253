import { createHmac } from 'node:crypto'
import { expect } from 'chai'
import { Agent, fetch, type Response } from 'undici'
import type { DeploymentSourceDto } from '../../src/api/sources/record.ts'
import { boundaryNamespace } from '../../src/core/names.ts'
import { DeploymentSource } from '../../src/crds/sources.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { GIT_NAMES, REPOSITORY_NAMES } from '../cases/gitNames.ts'
import { TEST_CONFIG } from '../config.ts'
import { SeededRandom } from '../make/random.ts'
import { type ErrorBody, expectCall, itemsOf, makeBoundary, until } from '../worlds/platform.ts'
import { PlayedGit } from '../worlds/providers/git.ts'
import { serveToPlatform } from '../worlds/providers/standIn.ts'
import { administrator, testPlatform } from '../worlds/tenant.ts'

type Begun = { deploymentSourceId: string; webhookUrl: string; webhookSecret: string }
type Status = { heads?: { commit: string; ref: string }[]; deliveries?: string[] }
type Receipt = { deliveryId: string; accepted: boolean }
type Given = { secret?: string; event?: string; isUnnamed?: boolean; signature?: string; dispatcher?: Agent }

const ROUNDS = 200
/** Three times the burst that an address may send without a token. */
const AT_ONCE = 300
const push = (commit: string) =>
  JSON.stringify({ ref: 'refs/heads/main', after: commit, repository: { id: 1, full_name: 'acme/site' } })
const [ONE, TWO, THREE] = ['a'.repeat(40), 'b'.repeat(40), 'c'.repeat(40)]

/** Of simulated plain Git: the tests are about who may deliver pushes. */
describe('webhook deliveries to a deployment source', () => {
  let admin: KubeClient
  let boundaryId: string
  let begun: Begun
  let close: (() => Promise<void>) | undefined
  const stored = async () => {
    const ref = { namespace: boundaryNamespace(boundaryId), name: begun.deploymentSourceId }
    return (await admin.get<KubeObject & { status?: Status }>(DeploymentSource.resource, ref)).status ?? {}
  }
  const send = (body: string | Buffer, id: string, given: Given = {}) => {
    const { secret = begun.webhookSecret, event = 'push', isUnnamed = false } = given
    const signature = given.signature ?? `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
    const url = new URL(begun.webhookUrl)
    if (isUnnamed) url.searchParams.delete('source')
    const headers = {
      'content-type': 'application/json',
      'x-hub-signature-256': signature,
      'x-freehold-event': event,
      'x-freehold-delivery': id,
    }
    const { dispatcher } = given
    const init = { method: 'POST', headers, body: new Uint8Array(Buffer.from(body)), ...(dispatcher && { dispatcher }) }
    return fetch(url, init)
  }
  const receipt = async (answer: Response) => [answer.status, (await answer.json()) as Receipt]

  before(async () => {
    const { git } = testPlatform()
    close = await serveToPlatform({ git: new PlayedGit('good') }, git)
    admin = await administrator()
    boundaryId = (await makeBoundary()).id
    const path = `/boundaries/${boundaryId}/sources`
    const body = { displayName: 'Shop', baseUrl: `https://${git.host}/git/shop.git`, accessToken: 'good' }
    begun = (await expectCall<Begun>(201, 'POST', `${path}/git/create`, body)).body
    await until('the source is ready', async () => {
      const [source] = await itemsOf<DeploymentSourceDto>(path)
      return source?.status === 'Ready'
    })
  })
  after(async () => {
    await close?.()
    await admin.close()
  })

  it('verifies a delivery, records it once, and finds the source by the signature if the URL names none', async () => {
    expect(await receipt(await send(push(ONE), 'one'))).to.deep.equal([202, { deliveryId: 'one', accepted: true }])
    expect(await receipt(await send(push(ONE), 'one'))).to.deep.equal([202, { deliveryId: 'one', accepted: false }])
    // Providers do not sign the id: an eavesdropper could send a delivery under another one.
    expect(await receipt(await send(push(ONE), 'new'))).to.deep.equal([202, { deliveryId: 'new', accepted: false }])
    const unnamed = await receipt(await send(push(TWO), 'two', { isUnnamed: true }))
    expect(unnamed).to.deep.equal([202, { deliveryId: 'two', accepted: true }])
    const { heads } = await stored()
    expect(heads?.map(({ ref, commit }) => [ref, commit])).to.deep.equal([['refs/heads/main', TWO]])
  })

  it('records 20 concurrent deliveries once each', async () => {
    const bodies = Array.from({ length: 20 }, (_, index) =>
      JSON.stringify({ ref: `refs/heads/b${index}`, after: ONE, repository: { id: 1, full_name: 'acme/site' } }),
    )
    const answers = await Promise.all(
      bodies.flatMap((body, index) => [send(body, `b${index}`), send(body, `b${index}`)]),
    )
    const receipts = await Promise.all(answers.map(async (answer) => ((await answer.json()) as Receipt).accepted))
    expect(receipts.filter(Boolean)).to.have.length(20)
    expect((await stored()).heads).to.have.length(21)
  })

  it(`changes nothing for ${ROUNDS} deliveries that are forged, repeated, truncated or too long`, async () => {
    const before = await stored()
    const random = new SeededRandom(TEST_CONFIG.seed)
    const good = push(THREE)
    const attempts: ((id: string) => Promise<Response>)[] = [
      (id) => send(good, id, { secret: `a secret that is not the one: ${random.next()}` }),
      (id) => send(push(TWO), id),
      (id) => send(good.slice(0, 1 + random.below(good.length - 1)), id),
      (id) => send(good, id, { signature: `sha256=${'f'.repeat(random.below(80))}` }),
      (id) => send(good, id, { event: ['star', 'constructor', '', 'pull_request'][random.below(4)] ?? '' }),
      (id) => send(good.replace(THREE, '../../etc'), id),
    ]
    const statuses = new Set<number>()
    for (let round = 0; round < ROUNDS; round += 1) {
      const attempt = attempts[round % attempts.length]
      if (attempt !== undefined) statuses.add((await attempt(`f${round}`)).status)
    }
    const long = await send(Buffer.alloc(1_048_577, 0x20), 'long')
    expect([long.status, ((await long.json()) as ErrorBody).code]).to.deep.equal([400, 'BODY_TOO_LARGE'])
    expect([...statuses].sort()).to.deep.equal([202, 406])
    const after = await stored()
    expect([after.heads, after.deliveries]).to.deep.equal([before.heads, before.deliveries])
  })

  it('forgets the head of a deleted branch, and changes nothing for an unknown one', async () => {
    const at = (ref: string, after: string) =>
      JSON.stringify({ ref, after, repository: { id: 1, full_name: 'acme/site' } })
    const before = (await stored()).heads ?? []
    await send(at('refs/heads/short', ONE), 'came')
    expect((await stored()).heads).to.have.length(before.length + 1)
    const deleted = await receipt(await send(at('refs/heads/short', '0'.repeat(40)), 'gone'))
    expect(deleted).to.deep.equal([202, { deliveryId: 'gone', accepted: true }])
    await send(at('refs/heads/never', '0'.repeat(40)), 'unknown')
    expect((await stored()).heads).to.deep.equal(before)
  })

  it('returns 406 for refs and repositories with impossible names, and changes nothing', async () => {
    const before = await stored()
    const at = (ref: string, full_name: string) => JSON.stringify({ ref, after: TWO, repository: { id: 1, full_name } })
    const impossible = [
      ...GIT_NAMES.impossible.map(([what, name]) => [what, at(`refs/heads/${name}`, 'acme/site')] as const),
      ...REPOSITORY_NAMES.impossible.map(([what, name]) => [what, at('refs/heads/main', name)] as const),
    ]
    for (const [index, [what, body]] of impossible.entries()) {
      const answer = await send(body, `impossible${index}`)
      expect([answer.status, ((await answer.json()) as ErrorBody).code], what).to.deep.equal([
        406,
        'webhook-not-acceptable',
      ])
    }
    const after = await stored()
    expect([after.heads, after.deliveries]).to.deep.equal([before.heads, before.deliveries])
  })

  it(`accepts ${AT_ONCE} concurrent signed deliveries`, async () => {
    // From a separate address: other tests on this machine send requests without a token too.
    const dispatcher = new Agent({ localAddress: '127.0.0.61' })
    const bodies = Array.from({ length: AT_ONCE }, (_, at) => push(at.toString(16).padStart(40, 'd')))
    const answers = await Promise.all(bodies.map((body, at) => send(body, `many${at}`, { dispatcher })))
    expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([202]))
    await dispatcher.close()
  })

  it('returns 404 source-unknown for an unknown provider', async () => {
    const url = `${testPlatform().facadeUrl}/boundaries/${boundaryId}/sources/bitbucket/webhooks`
    const answer = await fetch(url, { method: 'POST', body: '{}' })
    expect([answer.status, ((await answer.json()) as ErrorBody).code]).to.deep.equal([404, 'source-unknown'])
    expect(answer.headers.get('content-type')).to.contain('problem+json')
  })
})
