import { boundaryNamespace } from '../../../src/core/names.ts'
import type { KubeObject } from '../../../src/core/object.ts'
import { RelationalCluster } from '../../../src/crds/relational.ts'
import { RelationalSnapshot } from '../../../src/crds/relationalSnapshots.ts'
import { ResourceGroup } from '../../../src/crds/resourcegroups.ts'
import { until } from '../../make/until.ts'
import { type Scenario, WAIT } from '../crashes.ts'

const SNAPSHOT = '0ad1b2c3-4d5e-4f60-8a7b-9c0d1e2f3a4b'

/** A relational database is created, scaled, snapshotted, restored under another name and deleted. */
export const relational: Scenario = async ({ own, boundaryId, home, create, untilReady }) => {
  const { admin } = own
  const ref = { namespace: home, name: 'orders' }
  await create(RelationalCluster, 'orders', {
    computePlan: 'relational-small',
    enableLoadBalancer: true,
    enablePooler: true,
    extensions: ['citext'],
    finalSnapshotOnDelete: true,
  })
  await untilReady(RelationalCluster, 'orders')
  await admin.mergePatch(RelationalCluster.resource, ref, { spec: { replicas: 3 } })
  await until(
    'three instances are ready',
    async () => {
      const { status } = await admin.get<KubeObject & { status?: { readyReplicas?: number } }>(
        RelationalCluster.resource,
        ref,
      )
      return status?.readyReplicas === 3
    },
    WAIT,
  )
  await create(RelationalSnapshot, SNAPSHOT, { clusterName: 'orders', name: 'before' })
  await untilReady(RelationalSnapshot, SNAPSHOT)
  await create(RelationalCluster, 'heir', {
    restoreFrom: { clusterName: 'orders', snapshotId: SNAPSHOT },
    takesOver: 'orders',
  })
  await untilReady(RelationalCluster, 'heir')
  await admin.mergePatch(RelationalCluster.resource, ref, { spec: { running: true, connectTo: null } })
  await untilReady(RelationalCluster, 'orders')
  await admin.remove(RelationalCluster.resource, ref)
  await until(
    'the database is gone',
    async () => {
      const { items } = await admin.list(RelationalCluster.resource, { namespace: home })
      return items.every(({ metadata }) => metadata.name !== 'orders')
    },
    WAIT,
  )
  await untilReady(RelationalCluster, 'heir')
  // The group is ready all along: a separate pass reports what holds it.
  await until(
    'the group tells that the last snapshot holds it, and no more the database',
    async () => {
      const group = { namespace: boundaryNamespace(boundaryId), name: 'search' }
      const { status } = await admin.get<KubeObject & { status?: { heldBy?: string[] } }>(ResourceGroup.resource, group)
      return status?.heldBy?.length === 1 && status.heldBy[0]?.startsWith(`${RelationalSnapshot.segment}/`) === true
    },
    WAIT,
  )
}
