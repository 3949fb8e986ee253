import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { SeededRandom } from '../../../test/make/random.ts'
import { systemClock } from '../../core/clock.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { silentLog } from '../../core/log.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { type KubeObject, keyOf, type Resource } from '../../core/object.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { BoundaryTrust, DenyAssignment, PrincipalGroup, RoleAssignment, RoleDefinition } from '../../crds/rbac.ts'
import { FreshAccess } from './freshAccess.ts'

const KINDS = [RoleDefinition, PrincipalGroup, RoleAssignment, DenyAssignment, BoundaryTrust]
const BOUNDARIES = [randomUUID(), randomUUID()] as const
const PEOPLE = Array.from({ length: 3 }, () => randomUUID())
const GROUPS = Array.from({ length: 2 }, () => randomUUID())
const ROLES = ['Runner', 'Writer']
const ACTIONS = ['jobs/read', 'jobs/write', 'vectorcluster/read']
const LIFE = 'life'

/** Every boundary exists, and nobody is recorded, so any id names somebody. */
const caches = {
  has: () => true,
  get: (resource: Resource) => ({
    get: (_: string | undefined, name: string) =>
      resource === Boundary.resource
        ? { metadata: { name, annotations: { [INCARNATION_ANNOTATION]: LIFE } } }
        : undefined,
    list: () => [],
    subscribe: () => () => undefined,
  }),
} as never

class Store {
  readonly objects = new Map<Resource, Map<string, KubeObject>>(KINDS.map(({ resource }) => [resource, new Map()]))
  #version = 0

  put(resource: Resource, metadata: { name: string; namespace?: string }, spec: object): void {
    this.#version += 1
    const object = { metadata: { ...metadata, uid: metadata.name, resourceVersion: `${this.#version}` }, spec }
    this.objects.get(resource)?.set(keyOf(object as never), object as never)
  }

  /** What a review of the boundary reads, each time as new objects. */
  read(boundaryId: string) {
    const namespaces = [undefined, SYSTEM_NAMESPACE, boundaryNamespace(boundaryId)]
    return new Map(
      [...this.objects].map(([resource, objects]) => [
        resource,
        new Map(
          structuredClone([...objects].filter(([, { metadata }]) => namespaces.includes(metadata.namespace))),
        ) as ReadonlyMap<string, KubeObject>,
      ]),
    )
  }
}

function change(store: Store, random: SeededRandom): void {
  const boundary = random.pick(BOUNDARIES)
  const isPlatform = random.chance(0.3)
  const namespace = isPlatform ? SYSTEM_NAMESPACE : boundaryNamespace(boundary)
  const scope = isPlatform ? '/' : `/boundaries/${boundary}`
  const scopeIncarnation = isPlatform ? undefined : LIFE
  const name = `record-${random.below(6)}`
  const principal = random.chance(0.4)
    ? { principalId: random.pick(GROUPS), principalType: 'Group' }
    : { principalId: random.pick(PEOPLE), principalType: 'User' }
  const actions = random.some(ACTIONS, 2)
  const boundaryIncarnation = LIFE
  const [boundaryId, trustedBoundaryId] = BOUNDARIES
  const writes = [
    () =>
      store.put(
        RoleDefinition.resource,
        { name },
        {
          ...{ displayName: random.pick(ROLES), actions, dataActions: [], notActions: [], notDataActions: [] },
          ...{ assignableScopes: ['/'], isBuiltIn: false },
        },
      ),
    () =>
      store.put(
        PrincipalGroup.resource,
        { name: random.pick(GROUPS), namespace },
        { memberIds: random.some([...PEOPLE, ...GROUPS], 3) },
      ),
    () =>
      store.put(
        RoleAssignment.resource,
        { name, namespace },
        { ...principal, roleDefinitionName: random.pick(ROLES), scope, scopeIncarnation },
      ),
    () =>
      store.put(
        DenyAssignment.resource,
        { name, namespace },
        {
          ...(random.chance(0.3) ? { isEveryone: true } : principal),
          ...{ excludedPrincipalIds: random.some(PEOPLE, 1), actions, dataActions: [], scope, scopeIncarnation },
        },
      ),
    () =>
      store.put(
        BoundaryTrust.resource,
        { name, namespace: SYSTEM_NAMESPACE },
        {
          ...{ boundaryId, trustedBoundaryId, boundaryIncarnation, trustedBoundaryIncarnation: LIFE },
          ...{ actions: ['jobs/read'], bidirectional: random.chance(0.5) },
        },
      ),
    () => {
      const objects = store.objects.get(random.pick(KINDS).resource)
      if (objects !== undefined && objects.size > 0) objects.delete(random.pick([...objects.keys()]))
    },
  ]
  random.pick([...writes, writes[2], writes[5]])?.()
}

function answersOf({ access }: FreshAccess): unknown[] {
  return PEOPLE.flatMap((id) =>
    ['/', ...BOUNDARIES.map((boundary) => `/boundaries/${boundary}`)].map((scope) => [
      ...ACTIONS.filter((action) => access.isAllowed(id, action, scope)),
      ...access.rolesAt(id, scope).sort(),
    ]),
  )
}

describe('FreshAccess', () => {
  const seed = Number(process.env.FREEHOLD_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))

  it(`answers after updates as one that reads everything for the first time (seed ${seed})`, () => {
    const random = new SeededRandom(seed)
    const options = { caches, clock: systemClock, log: silentLog }
    const store = new Store()
    const kept = new FreshAccess(options, store.read(BOUNDARIES[0]))
    let allowed = 0
    for (let turn = 0; turn < 500; turn += 1) {
      for (let count = random.below(4); count >= 0; count -= 1) change(store, random)
      const boundary = random.pick(BOUNDARIES)
      kept.update(store.read(boundary))
      const answers = answersOf(kept)
      expect(answers, `turn ${turn}`).to.deep.equal(answersOf(new FreshAccess(options, store.read(boundary))))
      allowed += answers.flat().length
    }
    expect(allowed).to.be.greaterThan(0)
  })

  it('evaluates again only what changed', () => {
    const store = new Store()
    let reads = 0
    const role = (name: string) => ({
      get displayName() {
        reads += 1
        return name
      },
      ...{ actions: ['jobs/read'], dataActions: [], notActions: [], notDataActions: [], isBuiltIn: false },
    })
    for (let count = 0; count < 100; count += 1)
      store.put(RoleDefinition.resource, { name: `role-${count}` }, role(`Role ${count}`))
    const now = () => new Map([...store.objects].map(([resource, objects]) => [resource, new Map(objects)]))
    const access = new FreshAccess({ caches, clock: systemClock, log: silentLog }, now())
    reads = 0
    access.update(now())
    expect(reads).to.equal(0)
    store.put(RoleDefinition.resource, { name: 'role-1' }, role('Role 1'))
    access.update(now())
    expect(reads).to.be.within(1, 20)
  })
})
