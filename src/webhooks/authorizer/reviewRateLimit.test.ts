import { expect } from 'chai'
import { ManualClock } from '../../../test/make/clock.ts'
import { type ReviewAnswer, type ReviewStatus, reviewAnswer } from './answer.ts'
import { limitReviewRate, MAX_OPEN_REQUESTS } from './reviewRateLimit.ts'

const TENANT = 'p:11111111-1111-4111-8111-111111111111'
const OTHER = 'p:22222222-2222-4222-8222-222222222222'

describe('limitReviewRate', () => {
  let clock: ManualClock
  let verdict: ReviewStatus
  let ask: (user: string, attributes: object) => Promise<string>

  beforeEach(() => {
    clock = new ManualClock()
    verdict = { allowed: true, reason: 'Owner at /' }
    const options = { requestsPerMinute: 100_000_000, scopeOfNamespace: () => undefined, clock }
    const review = limitReviewRate(async () => reviewAnswer(verdict), options)
    ask = async (user, resourceAttributes) => {
      const { allowed, denied, reason } = ((await review({ spec: { user, resourceAttributes } })) as ReviewAnswer)
        .status
      return allowed ? 'allowed' : `${denied === true ? 'denied' : 'no opinion'}: ${reason}`
    }
  })
  const watch = { verb: 'watch', resource: 'vectorclusters' }
  const openAll = async (user: string) => {
    for (let count = 0; count < MAX_OPEN_REQUESTS; count += 1) expect(await ask(user, watch)).to.equal('allowed')
  }

  it('denies more watches than MAX_OPEN_REQUESTS and allows one more per second', async () => {
    await openAll(TENANT)
    expect(await ask(TENANT, watch)).to.match(/^denied: Too many watches, /)
    await clock.advance(1_000)
    expect(await ask(TENANT, watch)).to.equal('allowed')
    expect(await ask(TENANT, watch)).to.match(/^denied/)
  })

  for (const subresource of ['log', 'exec', 'attach', 'portforward'])
    it(`counts pods/${subresource} like a watch`, async () => {
      await openAll(TENANT)
      expect(await ask(TENANT, { verb: 'get', resource: 'pods', subresource })).to.match(/^denied/)
    })

  it('counts requests that RBAC may allow separately from those that a role allows', async () => {
    verdict = { allowed: false, reason: 'missing' }
    for (let count = 0; count < MAX_OPEN_REQUESTS; count += 1)
      expect(await ask(TENANT, watch)).to.equal('no opinion: missing')
    expect(await ask(TENANT, watch)).to.match(/^denied: Too many watches, /)
    verdict = { allowed: true, reason: 'Owner at /' }
    expect(await ask(TENANT, watch)).to.equal('allowed')
  })

  it('does not limit other requests or other tenants', async () => {
    await openAll(TENANT)
    expect(await ask(TENANT, watch)).to.match(/^denied/)
    expect(await ask(TENANT, { verb: 'list', resource: 'vectorclusters' })).to.equal('allowed')
    expect(await ask(OTHER, watch)).to.equal('allowed')
  })

  it('does not limit controllers of the cluster', async () => {
    for (const user of ['system:serviceaccount:flux-system:kustomize-controller', 'kubernetes-admin']) {
      await openAll(user)
      expect(await ask(user, watch)).to.equal('allowed')
    }
  })
})
