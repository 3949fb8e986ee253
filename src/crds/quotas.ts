import { z } from 'zod'
import { defineKind, type ObjectOf } from './define.ts'
import { DateTime, PlainText } from './fields.ts'

/**
 * What each resource of a boundary was granted from the quotas above it. A grant writes the whole ledger at the version
 * that was read, so that the API server decides between two concurrent requests.
 */
export const QuotaLedger = defineKind({
  group: 'core',
  kind: 'QuotaLedger',
  shortNames: ['qledger'],
  placement: 'boundary',
  name: 'free',
  area: 'quotas',
  writtenByPlatform: 'it records what each resource was granted; writing it by hand grants nothing',
  description: 'What was granted to the resources of a boundary from its quotas and those of its groups.',
  spec: z.strictObject({
    grants: z
      .record(
        PlainText.max(180),
        z.strictObject({
          cpu: PlainText.max(32).describe('Cores over all replicas, such as 1500m'),
          memory: PlainText.max(32).describe('Memory over all replicas, such as 4Gi'),
          storage: PlainText.max(32).describe('Storage over all volumes, such as 30Gi'),
          pods: z.int().min(0).describe('Number of pods that may run at once'),
          at: DateTime.describe('When it was granted'),
        }),
      )
      .prefault({})
      // One field for managedFields, which would otherwise name each field of each grant, and double the object.
      .meta({ 'x-kubernetes-map-type': 'atomic' })
      .describe('Grants by `<plural>/<resource group>/<name>`; only of resources that a quota limits'),
  }),
  status: z.object({}),
  columns: [],
})
export type QuotaLedger = ObjectOf<typeof QuotaLedger>
