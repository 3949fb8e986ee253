import { expect } from 'chai'
import { ManualClock } from '../../../test/make/clock.ts'
import { PlatformClient, PlatformUser } from '../../crds/identity.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import type { KubeObject, Resource } from '../../kube/object.ts'
import { createPrincipalStatus } from './principalStatus.ts'

const ANNA = '11111111-1111-4111-8111-111111111111'
const ROBOT = '22222222-2222-4222-8222-222222222222'
const namespace = 'freehold-system'

describe('createPrincipalStatus', () => {
  let cached: Map<string, KubeObject>
  let client: FakeKubeClient
  let clock: ManualClock
  let reads: number

  const object = (kind: { apiVersion: string; kind: string }, name: string, spec: object, more: object = {}) =>
    ({ apiVersion: kind.apiVersion, kind: kind.kind, metadata: { namespace, name, ...more }, spec }) as KubeObject
  const remember = (resource: Resource, found: KubeObject) =>
    cached.set(`${resource.plural} ${found.metadata.name}`, found)

  function standing() {
    return createPrincipalStatus({
      client: {
        get: (resource, ref) => {
          reads += 1
          return client.get(resource, ref)
        },
      },
      caches: {
        get: (resource) => ({ get: (_namespace, name) => cached.get(`${resource.plural} ${name}`) as never }),
      },
      clock,
    })
  }

  beforeEach(() => {
    cached = new Map()
    client = new FakeKubeClient()
    clock = new ManualClock()
    reads = 0
  })

  it('accepts cached users and service accounts without a call', async () => {
    remember(PlatformUser.resource, object(PlatformUser, ANNA, { isEnabled: true }))
    remember(PlatformClient.resource, object(PlatformClient, ROBOT, {}))
    expect(await standing().endOf(ANNA, 'User')).to.equal(undefined)
    expect(await standing().endOf(ROBOT, 'ServicePrincipal')).to.equal(undefined)
    expect(await standing().endOf(ANNA), 'whose type is not said').to.equal(undefined)
    expect(reads).to.equal(0)
  })

  it('reports disabled users and service accounts with a deletionTimestamp', async () => {
    remember(PlatformUser.resource, object(PlatformUser, ANNA, { isEnabled: false }))
    const leaving = { deletionTimestamp: '2026-01-01T00:00:00Z' }
    remember(PlatformClient.resource, object(PlatformClient, ROBOT, { isEnabled: true }, leaving))
    expect(await standing().endOf(ANNA, 'User')).to.equal('disabled')
    expect(await standing().endOf(ROBOT, 'ServicePrincipal')).to.equal('deleted')
    expect(await standing().endOf(ROBOT)).to.equal('deleted')
  })

  it('reads a principal that is not cached from the API server', async () => {
    client.seed(PlatformClient.resource, object(PlatformClient, ROBOT, { isEnabled: true }))
    expect(await standing().endOf(ROBOT, 'ServicePrincipal')).to.equal(undefined)
    expect(reads).to.equal(1)
  })

  for (const where of ['cached', 'on the API server only'] as const) {
    it(`reports a token for a former uid as deleted, with the user ${where}`, async () => {
      const anew = object(PlatformUser, ANNA, { isEnabled: true }, { uid: 'second' })
      client.seed(PlatformUser.resource, anew)
      if (where === 'cached') remember(PlatformUser.resource, anew)
      expect(await standing().endOf(ANNA, 'User', 'first')).to.equal('deleted')
      expect(await standing().endOf(ANNA, 'User', 'second')).to.equal(undefined)
      expect(await standing().endOf(ANNA, 'User')).to.equal(undefined)
    })
  }

  it('distinguishes the types of principals', async () => {
    remember(PlatformClient.resource, object(PlatformClient, ROBOT, { isEnabled: true }))
    expect(await standing().endOf(ROBOT, 'User')).to.equal('deleted')
  })

  it('reads a missing principal once in 2 s', async () => {
    const one = standing()
    for (let call = 0; call < 5; call += 1) expect(await one.endOf(ANNA, 'User')).to.equal('deleted')
    expect(reads).to.equal(1)
    await clock.advance(2_001)
    client.seed(PlatformUser.resource, object(PlatformUser, ANNA, { isEnabled: true }))
    expect(await one.endOf(ANNA, 'User')).to.equal(undefined)
  })

  it('reports an id that is not a UUID as deleted without a call', async () => {
    expect(await standing().endOf('../secrets/x', 'User')).to.equal('deleted')
    expect(reads).to.equal(0)
  })

  it('throws while the API server is unavailable, and reads again on the next call', async () => {
    const failing = createPrincipalStatus({
      client: {
        get: () => {
          reads += 1
          return Promise.reject(new Error('away'))
        },
      },
      caches: { get: () => ({ get: () => undefined }) },
      clock,
    })
    for (let call = 1; call <= 2; call += 1) {
      const failure = await failing.endOf(ANNA, 'User').catch((error: Error) => error.message)
      expect(failure).to.equal('away')
    }
    expect(reads).to.equal(2)
  })
})
