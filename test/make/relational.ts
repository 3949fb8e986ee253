import { INCARNATION_ANNOTATION } from '../../src/core/labels.ts'
import type { SpecOf } from '../../src/crds/define.ts'
import { RelationalCluster } from '../../src/crds/relational.ts'
import { relationalInput as inputOf, type RelationalInput } from '../../src/desired/relational/index.ts'

export type RelationalSpec = SpecOf<typeof RelationalCluster>

/** A relational database named `orders`, as the API server would answer it after a create with these fields. */
export function relationalCluster(spec: Partial<RelationalSpec> = {}): RelationalCluster {
  return {
    apiVersion: RelationalCluster.apiVersion,
    kind: RelationalCluster.kind,
    metadata: {
      name: 'orders',
      namespace: 'shop-0123456789',
      uid: 'uid-orders',
      resourceVersion: '1',
      generation: 1,
      creationTimestamp: '2026-11-01T10:00:00Z',
      annotations: { [INCARNATION_ANNOTATION]: '05275f13-e39d-4b09-8214-c60e979a8db4' },
    },
    spec: RelationalCluster.spec.parse(spec),
  }
}

export const TARGET = { bucket: 'backups', endpoint: 'https://s3.example.org', prefix: 'db', region: undefined }

/** The input of the builders of its children, with the sizes of the small plan and a backup target. */
export function relationalInput(
  spec: Partial<RelationalSpec> = {},
  over: Partial<RelationalInput> = {},
): RelationalInput {
  const cluster = relationalCluster(spec)
  const input = inputOf({
    cluster,
    plan: {
      cpuRequest: '500m',
      cpuLimit: '2',
      memoryRequest: '2Gi',
      memoryLimit: '2Gi',
      storageSize: '20Gi',
      storageClass: '',
      replicas: 2,
    },
    maxConnections: 200,
    instances: cluster.spec.replicas ?? 2,
    backup: {
      target: TARGET,
      destinationPath: 's3://backups/db/shop-0123456789',
      serverName: 'relc-orders-05275f13e39d',
      retentionDays: 14,
    },
    snapshotClass: undefined,
    origin: undefined,
    target: TARGET,
    apiServer: [],
    installedExtensions: [],
  })
  return { ...input, ...over }
}
