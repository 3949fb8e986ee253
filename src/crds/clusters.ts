import { z } from 'zod'
import { defineKind, type ObjectOf } from './define.ts'
import { DisplayName } from './fields.ts'

const label = z
  .string()
  .max(63)
  .regex(
    /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/,
    'must be lower-case letters, digits and hyphens that begin and end with a letter or digit',
  )
const subdomain = z
  .string()
  .max(253)
  .regex(
    /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/,
    'must be lower-case letters, digits, hyphens and dots that begin and end with a letter or digit',
  )

/** A Gateway of the Gateway API, as a route names its parent (GEP-957: the section is a listener). */
const Gateway = z.strictObject({
  namespace: label.describe('Namespace of the Gateway, whose pods may then reach what it leads to'),
  name: subdomain.describe('Name of the Gateway'),
  sectionName: subdomain
    .optional()
    .describe('Listener that routes belong to; every listener that takes them when absent'),
})
export type Gateway = z.output<typeof Gateway>

/** A Kubernetes cluster that workloads run on. The platform's own is made at install. */
export const PlatformCluster = defineKind({
  group: 'core',
  kind: 'PlatformCluster',
  plural: 'platformclusters',
  forms: { 'kernel/clusters/read': ['get', 'list', 'watch'] },
  shortNames: ['pcl'],
  placement: 'cluster',
  name: 'uuid',
  area: 'clusters',
  description: 'A cluster that runs workloads. Its name is a uuid, the clusterId.',
  spec: z.strictObject({
    displayName: DisplayName,
    region: z
      .string()
      .max(64)
      .default('')
      .describe('Where the cluster is, as resources on it show and are filtered by'),
    domain: z
      .string()
      .max(200)
      .regex(/^[a-z0-9]([a-z0-9.-]{0,198}[a-z0-9])?$/, 'must be a domain in lower case, such as apps.example.com')
      .describe('Domain below which the public hosts of resources lie'),
    isPlatform: z
      .boolean()
      .default(false)
      .describe(
        'True for the cluster that the platform itself runs on, the only one that can run resources yet; immutable',
      ),
    ingressClassName: z
      .string()
      .max(63)
      .optional()
      .describe("IngressClass of the Ingresses of resources; the cluster's default when absent"),
    gateway: Gateway.optional().describe(
      'What leads public hosts to resources where the cluster serves HTTPRoute; else an Ingress does',
    ),
    publicPort: z
      .int()
      .min(1)
      .max(65_535)
      .optional()
      .describe('Port that clients of public hosts connect to, as the URLs of resources show it; 443 when absent'),
    certificateIssuer: subdomain
      .optional()
      .describe(
        'ClusterIssuer of cert-manager that signs for custom domains; without one nothing asks for certificates',
      ),
  }),
  // No controller looks at clusters yet: nothing would ever write it.
  status: z.object({}),
  immutable: ['isPlatform'],
  columns: [
    { name: 'Display Name', path: '.spec.displayName' },
    { name: 'Region', path: '.spec.region' },
  ],
})
export type PlatformCluster = ObjectOf<typeof PlatformCluster>
