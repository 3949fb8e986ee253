import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { systemClock } from '../../core/clock.ts'
import { INCARNATION_ANNOTATION, PRINCIPAL_INCARNATIONS_ANNOTATION } from '../../core/labels.ts'
import { silentLog } from '../../core/log.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject, Resource } from '../../core/object.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { PlatformUser } from '../../crds/identity.ts'
import { KINDS } from '../../crds/index.ts'
import { PrincipalGroup, RoleAssignment } from '../../crds/rbac.ts'
import { CacheSet } from '../../kube/caches.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import { createAccess } from './access.ts'

const [BOUNDARY, PERSON] = [randomUUID(), randomUUID()]
const SCOPE = `/boundaries/${BOUNDARY}`
const namespace = boundaryNamespace(BOUNDARY)

describe('createAccess, with many records of a boundary and a person', () => {
  let [reads, version] = [0, 1]
  const caches = new CacheSet({ client: new FakeKubeClient() })
  for (const kind of KINDS) caches.add(kind.resource)
  const counted = {
    has: (resource: Resource) => caches.has(resource),
    get<T extends KubeObject>(resource: Resource) {
      const cache = caches.get<T>(resource)
      return {
        get: (...given: Parameters<typeof cache.get>) => {
          reads += 1
          return cache.get(...given)
        },
        list: cache.list.bind(cache),
        subscribe: cache.subscribe.bind(cache),
      }
    },
  }
  const put = (kind: (typeof KINDS)[number], name: string, at: string | undefined, spec: object, more: object = {}) => {
    version += 1
    const { annotations = { [INCARNATION_ANNOTATION]: 'life' }, ...rest } = more as { annotations?: object }
    const metadata = { name, uid: name, generation: 1, resourceVersion: String(version), annotations }
    const object = {
      ...{ apiVersion: kind.apiVersion, kind: kind.kind, spec, ...rest },
      metadata: { ...metadata, ...(at !== undefined && { namespace: at }) },
    }
    caches.get(kind.resource).observeWrite(object as never)
  }
  const putBoundary = (more?: object) => put(Boundary, BOUNDARY, undefined, { displayName: 'Shop' }, more)
  const putPerson = (more?: object) => put(PlatformUser, PERSON, SYSTEM_NAMESPACE, { userName: 'anna' }, more)
  const access = createAccess({ caches: counted as never, clock: systemClock, log: silentLog })
  after(() => access.stop())
  before(() => {
    putBoundary()
    putPerson()
    const annotations = { [PRINCIPAL_INCARNATIONS_ANNOTATION]: JSON.stringify({ [PERSON]: 'life' }) }
    const grant = { principalId: PERSON, principalType: 'User', roleDefinitionName: 'Reader', scope: SCOPE }
    for (let index = 0; index < 100; index += 1) {
      put(RoleAssignment, randomUUID(), namespace, { ...grant, scopeIncarnation: 'life' }, { annotations })
      put(PrincipalGroup, randomUUID(), namespace, { displayName: 'Team', memberIds: [PERSON] }, { annotations })
    }
  })
  const mayRead = () => access.isAllowed(PERSON, 'boundaries/read', SCOPE)

  it('evaluates no record again when the status of the boundary or the person changes', () => {
    expect(mayRead()).to.equal(true)
    reads = 0
    putBoundary({ status: { phase: 'Running' } })
    putPerson({ status: { lastSignInAt: '2026-01-01T00:00:00Z' } })
    expect(reads).to.equal(0)
    expect(mayRead()).to.equal(true)
  })

  for (const [title, recreate] of [
    ['boundary', putBoundary],
    ['person', putPerson],
  ] as const) {
    it(`evaluates the records again when the ${title} gets another incarnation`, () => {
      recreate({ annotations: { [INCARNATION_ANNOTATION]: 'later' } })
      expect(mayRead()).to.equal(false)
      recreate()
      expect(mayRead()).to.equal(true)
    })
  }
})
