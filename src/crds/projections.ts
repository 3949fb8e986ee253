import { z } from 'zod'
import { PlatformCluster } from './clusters.ts'
import { defineKind, type ObjectOf, READ_VERBS, statusColumns, statusWith } from './define.ts'
import { DateTime, DnsLabel, listSetOf, Uuid } from './fields.ts'
import { HOLDERS_SHOWN_MAX } from './holders.ts'

/** Lets resources of a boundary run on another cluster, where its groups get namespaces. */
export const BoundaryProjection = defineKind({
  group: 'core',
  kind: 'BoundaryProjection',
  shortNames: ['bproj'],
  placement: 'boundary',
  name: 'uuid',
  area: 'projections',
  segment: 'projections',
  forms: {
    'boundaries/projections/read': READ_VERBS,
    'boundaries/projections/manage': ['create', 'update', 'patch', 'delete'],
  },
  description: 'The boundary on another cluster. Its name is the clusterId, so that there is one per cluster.',
  spec: z.strictObject({
    clusterId: Uuid.describe('Id of the PlatformCluster, which is also the name of this object; immutable'),
    namespaces: listSetOf(DnsLabel, 200)
      .optional()
      .describe('Namespaces of groups of this boundary to create there; all of them when absent'),
  }),
  status: statusWith({
    resolvedNamespaces: z
      .array(
        z.object({
          namespace: z.string().describe('Name of the namespace, the same in both clusters'),
          state: z.string().describe('Pending, Applied, Drifted, Failed or Removing'),
          message: z.string().optional().describe('Why it is not Applied'),
          appliedAt: DateTime.optional().describe('When it was first complete in that cluster'),
          retainedVolumes: z
            .array(z.string().max(253))
            .max(HOLDERS_SHOWN_MAX)
            .optional()
            .describe(
              'Volume claims there that were retained when resources were deleted: the group cannot be deleted while there are any; at most 50',
            ),
        }),
      )
      .describe('Each namespace that is wanted or still exists there'),
    observedAt: DateTime.describe('When the namespaces last changed, as the platform saw it'),
  }),
  immutable: ['clusterId'],
  admission: [
    {
      on: 'CREATE',
      cel: 'object.metadata.name == object.spec.clusterId',
      message: 'metadata.name must be spec.clusterId, so that a boundary is projected on a cluster once',
    },
  ],
  parameterizedRules: [
    {
      of: PlatformCluster.kind,
      rules: [
        {
          on: 'CREATE',
          cel: 'params.metadata.name != object.spec.clusterId || !params.spec.?isPlatform.orValue(false)',
          message: "every boundary is on the platform's own cluster already: project it on another one",
        },
      ],
    },
  ],
  columns: [...statusColumns, { name: 'Cluster', path: '.spec.clusterId', priority: 1 }],
  selectable: ['spec.clusterId'],
})
export type BoundaryProjection = ObjectOf<typeof BoundaryProjection>
