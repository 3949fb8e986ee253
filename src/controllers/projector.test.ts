import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { BOUNDARY_ID, ControllerBench } from '../../test/worlds/controllers.ts'
import { INCARNATION_ANNOTATION, RETAINED_FOR_ANNOTATION, SCOPE_INCARNATION_ANNOTATION } from '../core/labels.ts'
import { groupNamespace, SYSTEM_NAMESPACE } from '../core/names.ts'
import { boundaryNamespaceObject } from '../core/namespaces.ts'
import type { KubeObject } from '../core/object.ts'
import { Boundary } from '../crds/boundaries.ts'
import { PlatformClient } from '../crds/identity.ts'
import { PrincipalGroup, RoleAssignment } from '../crds/rbac.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { namespace, networkPolicy, persistentVolumeClaim, roleBinding } from '../kube/builtin.ts'
import { withProjection } from './projector.ts'
import { resourceGroupController } from './resourcegroups.ts'

const HOME = `boundary-${BOUNDARY_ID}`
const SPACE = groupNamespace(BOUNDARY_ID, 'orders')
const HOUR = 3_600_000

describe('RoleBindings in a group namespace', () => {
  let bench: ControllerBench
  beforeEach(async () => {
    bench = new ControllerBench([withProjection(resourceGroupController(), true)])
    const life = { annotations: { [INCARNATION_ANNOTATION]: 'of-the-boundary' } }
    const boundary = bench.seed(Boundary, BOUNDARY_ID, { displayName: 'Shop', quota: {}, tags: {} }, life)
    bench.client.seed(namespace, boundaryNamespaceObject(boundary))
    bench.seed(ResourceGroup, 'orders', { quota: {}, tags: {} }, { namespace: HOME })
    assign('for-ever', 'ann')
    assign('hour', 'bob', { expiresAt: new Date(bench.clock.now() + HOUR).toISOString() })
    await bench.start()
    expect(await people()).to.deep.equal(['p:ann', 'p:bob'])
  })
  afterEach(() => bench.stop())

  function assign(name: string, principalId: string, more: object = {}): void {
    const scope = `/boundaries/${BOUNDARY_ID}`
    const spec = { principalId, principalType: 'User', roleDefinitionName: 'Reader', scope, ...more }
    const annotations = { [SCOPE_INCARNATION_ANNOTATION]: 'of-the-boundary' }
    bench.seed(RoleAssignment, name, spec, { namespace: HOME, annotations })
  }
  async function people(): Promise<string[]> {
    type Bound = KubeObject & { subjects?: { kind: string; name: string }[] }
    const { items } = await bench.client.list<Bound>(roleBinding, { namespace: SPACE })
    return items
      .flatMap(({ subjects = [] }) => subjects.flatMap(({ kind, name }) => (kind === 'User' ? [name] : [])))
      .sort()
  }

  const obstacles: [sentence: string, obstacle: () => Promise<unknown>][] = [
    [
      'a foreign NetworkPolicy stalls the group',
      async () => {
        const ref = { namespace: SPACE, name: 'freehold-default' }
        await bench.client.remove(networkPolicy, ref)
        bench.client.seed(networkPolicy, { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: ref })
      },
    ],
    [
      'the deletion of the group is blocked',
      async () => {
        const metadata = {
          namespace: SPACE,
          name: 'kept',
          annotations: { [RETAINED_FOR_ANNOTATION]: 'VectorCluster/x' },
        }
        bench.client.seed(persistentVolumeClaim, { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata })
        await bench.client.remove(ResourceGroup.resource, { namespace: HOME, name: 'orders' })
      },
    ],
  ]
  for (const [sentence, obstacle] of obstacles)
    it(`are deleted with their assignment and at its expiry while ${sentence}`, async () => {
      await obstacle()
      await bench.rest()
      await bench.client.remove(RoleAssignment.resource, { namespace: HOME, name: 'for-ever' })
      await bench.rest()
      expect(await people()).to.deep.equal(['p:bob'])
      await bench.clock.advance(HOUR)
      await bench.rest()
      expect(await people()).to.deep.equal([])
    })

  it('are removed while the principal is disabled, as a member of a group too', async () => {
    const [direct, member, team] = [randomUUID(), randomUUID(), randomUUID()]
    for (const id of [direct, member])
      bench.seed(PlatformClient, id, { displayName: 'CI', isEnabled: true }, { namespace: SYSTEM_NAMESPACE })
    bench.seed(PrincipalGroup, team, { displayName: 'Team', memberIds: [member] }, { namespace: HOME })
    assign('of-the-account', direct)
    assign('of-the-team', team, { principalType: 'Group' })
    await bench.rest()
    const all = ['p:ann', 'p:bob', `p:${direct}`, `p:${member}`].sort()
    expect(await people()).to.deep.equal(all)
    const set = async (isEnabled: boolean) => {
      for (const name of [direct, member])
        bench.client.edit<PlatformClient & KubeObject>(
          PlatformClient.resource,
          { namespace: SYSTEM_NAMESPACE, name },
          ({ spec }) => {
            spec.isEnabled = isEnabled
          },
        )
      await bench.rest()
    }
    await set(false)
    expect(await people()).to.deep.equal(['p:ann', 'p:bob'])
    await set(true)
    expect(await people()).to.deep.equal(all)
  })

  it('are not reconciled for changed annotations and status of an assignment', async () => {
    const edit = (change: (assignment: RoleAssignment & KubeObject) => void) =>
      bench.client.edit<RoleAssignment & KubeObject>(
        RoleAssignment.resource,
        { namespace: HOME, name: 'for-ever' },
        change,
      )
    const passes = await counted()
    edit(({ metadata }) => {
      metadata.annotations = { ...metadata.annotations, 'example.com/note': 'looked at' }
    })
    edit((assignment) => {
      assignment.status = { phase: 'Active' } as never
    })
    await bench.rest()
    expect(await counted()).to.equal(passes)
    edit(({ spec }) => {
      spec.principalId = 'eve'
    })
    await bench.rest()
    expect(await people()).to.deep.equal(['p:bob', 'p:eve'])
  })

  async function counted(): Promise<number> {
    const { values } = (await bench.registry.getSingleMetric('controller_runtime_reconcile_total')?.get()) ?? {}
    return (values ?? []).reduce((sum, { value }) => sum + value, 0)
  }
})
