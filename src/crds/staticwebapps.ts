import { z } from 'zod'
import { OUTGOING_URL_PATTERNS } from '../core/outgoingUrl.ts'
import { codeFields, deploymentRequests } from './codeFields.ts'
import { ImageReference } from './containerFields.ts'
import { containerStatus, HostName } from './containerinstances.ts'
import { defineKind, type ObjectOf, resourceColumns, statusWith } from './define.ts'
import { deployedStatus } from './deployments.ts'
import { DateTime, integerBetween, listSetOf, mapOf, matching, On, ResourceName, Tags } from './fields.ts'
import { siteAdmission, siteRules } from './siteRules.ts'
import { ClusterId, PodSelector, RestartedAt, Running } from './workloadFields.ts'

/** A valid value of an HTTP header. */
const HeaderValue = z
  .string()
  .min(1)
  .max(2048)
  .regex(/^[!-~]([ -~]*[!-~])?$/, 'must be printable ASCII without spaces at its ends')

const spec = z.strictObject({
  clusterId: ClusterId,
  ...codeFields,
  image: ImageReference.optional().describe(
    'Image to serve as it is, on port 8080, instead of a built one; exclusive with repositoryUrl',
  ),
  computePlan: ResourceName.default('container-nano').describe('Name of a ComputePlan of family ContainerInstance'),
  replicas: integerBetween(0, 10).default(1).describe('Number of copies'),
  cacheControl: HeaderValue.max(256)
    .default('public, max-age=300')
    .describe('Cache-Control of answers; files with a hash in their name are cached for a year'),
  headers: mapOf(HeaderValue, 50).prefault({}).describe('Further headers of every answer'),
  isSinglePage: On.describe('Whether paths without a file are answered with /index.html'),
  notFoundPage: matching(
    255,
    /^\/?[A-Za-z0-9_@+-][A-Za-z0-9._@+-]*(\/[A-Za-z0-9_@+-][A-Za-z0-9._@+-]*)*$/,
    'must be the path of a file',
  )
    .default('404.html')
    .describe('File to answer with for missing paths, unless isSinglePage'),
  proxyUrl: matching(
    2048,
    OUTGOING_URL_PATTERNS.proxy,
    'must be an https address with the name of a host, without a password, a query or a fragment',
  )
    .optional()
    .describe('Address that requests below /api are forwarded to'),
  enableIngress: On.describe('True gives it a public host, over HTTPS'),
  ingressHost: HostName.optional().describe(
    "Host of its own, which ends with a hyphen, the first 8 digits of the boundary's id and the cluster's domain; generated when absent",
  ),
  customDomains: listSetOf(HostName, 10).default([]).describe('Further public hosts, unique on the platform'),
  running: Running,
  ...deploymentRequests,
  restartedAt: RestartedAt,
  tags: Tags.prefault({}),
})

/** A static web app: files behind a web server, built from a repository or brought as an image. */
export const StaticWebApp = defineKind({
  group: 'compute',
  kind: 'StaticWebApp',
  shortNames: ['swa'],
  placement: 'group',
  area: 'staticwebapps',
  runsAnywhere: true,
  actions: 'staticwebapp',
  sized: 'ContainerInstance',
  // Called before the API server has applied defaults.
  hostsOf: ({ enableIngress = true, ingressHost, customDomains = [] }) =>
    enableIngress ? [...(ingressHost === undefined ? [] : [ingressHost]), ...customDomains] : [],
  protectedFields: { deploy: 'deploy', rollback: 'deploy', cancelledDeployment: 'deploy' },
  description: 'Files served by a web server, built from a repository or supplied as an image.',
  spec,
  status: statusWith({
    ...containerStatus,
    ...deployedStatus,
    servingRevision: z.int().describe('Number of the revision that is served; absent before the first one'),
    deployRequestedAt: DateTime.describe(
      'The spec.deploy.requestedAt that was acted on last; absent before the first one',
    ),
    deployedCode: z.string().describe('Hash of the location and build settings of the code, as last deployed'),
    selector: PodSelector,
  }),
  scale: { replicas: '.spec.replicas', ready: '.status.readyReplicas', selector: '.status.selector' },
  immutable: ['clusterId'],
  rules: siteRules,
  admission: siteAdmission,
  columns: resourceColumns(
    { name: 'Branch', path: '.spec.branch' },
    { name: 'Commit', path: '.status.commit' },
    { name: 'Ready Replicas', path: '.status.readyReplicas', type: 'integer' },
    { name: 'URL', path: '.status.publicUrl' },
    { name: 'Image', path: '.status.servingImage', priority: 1 },
  ),
  selectable: ['spec.computePlan', 'status.phase'],
})
export type StaticWebApp = ObjectOf<typeof StaticWebApp>
