import { z } from 'zod'
import {
  DEPLOYED_COLLECTIONS,
  DEPLOYMENT_PHASES,
  DEPLOYMENT_STRATEGIES,
  type DeploymentPhase,
  furthestPhase,
  isFinalPhase,
  isPhaseChangeAllowed,
} from '../contracts/deployments.ts'
import type { KubeObject } from '../core/object.ts'
import { ImageReference } from './containerFields.ts'
import { defineKind, type ObjectOf, READ_VERBS, type Rule, statusColumns, statusWith } from './define.ts'
import { DateTime, matching, ObjectName, PlainText, Uuid } from './fields.ts'
import { BranchName, CommitSha, RepositoryName } from './gitFields.ts'
import { NamespaceSecrets } from './namespaceSecrets.ts'

const Phase = z.enum(DEPLOYMENT_PHASES)

const spec = z.strictObject({
  ownerCollection: z
    .enum(DEPLOYED_COLLECTIONS)
    .describe('Collection of what is deployed, as URLs of REST name it; immutable'),
  ownerName: ObjectName.describe('Name of the resource in the same namespace; immutable'),
  strategy: z
    .enum(DEPLOYMENT_STRATEGIES)
    .describe('Image: an existing image; Build: built by the platform; Reported: built elsewhere; immutable'),
  image: ImageReference.optional().describe('Image to serve; for a build, once it is known'),
  branch: BranchName.optional().describe('Branch of the code'),
  commitSha: CommitSha.optional().describe('Commit of the code'),
  provider: z
    .enum(['GitHub', 'GitLab', 'Gitea', 'Bitbucket', 'Git', 'Registry', 'Upload'])
    .optional()
    .describe('Where the code or the image comes from'),
  repositoryName: RepositoryName.optional().describe('Full name of the repository of the code'),
  source: PlainText.max(253)
    .optional()
    .describe(
      'Name of the deployment source, or upload, image, `functions/<name>`; absent for a repository without a source',
    ),
  archive: matching(255, /^[a-z0-9/-]{1,180}@sha256:[0-9a-f]{64}$/, 'must be an uploaded source in the registry')
    .optional()
    .describe('Uploaded source that is built; the repository of the owner if absent'),
  namespaceSecrets: NamespaceSecrets.optional().describe(
    'For a function that is built elsewhere: secrets of its namespace that the reporter of the image may read',
  ),
  message: PlainText.max(1024).optional().describe('Last message of the external builder'),
  phase: Phase.optional().describe('Phase that the external builder reports; only forward'),
  timestamp: DateTime.optional().describe('When the external builder reported that'),
  cancelledAt: DateTime.optional().describe('When somebody cancelled it; cannot be undone'),
})
type Spec = z.output<typeof spec>

/** The position of each phase, as CEL; final phases come last. */
const ORDER = `{${DEPLOYMENT_PHASES.map((phase, at) => `'${phase}': ${at}`).join(', ')}}`

const rules: Rule<Spec>[] = [
  {
    cel: "self.strategy != 'Image' || has(self.image)",
    message: 'strategy Image needs an image',
    field: 'image',
    test: ({ strategy, image }) => strategy !== 'Image' || image !== undefined,
  },
  {
    cel: "self.strategy == 'Reported' || !has(self.phase)",
    message: 'phase may be set only for what is built elsewhere',
    code: 'INVALID_STATE',
    field: 'phase',
    test: ({ strategy, phase }) => strategy === 'Reported' || phase === undefined,
  },
  {
    cel: "!has(self.phase) || !(self.phase in ['Deploying', 'Succeeded']) || has(self.image)",
    message: 'image is required from phase Deploying on',
    field: 'image',
    test: ({ phase, image }) => (phase !== 'Deploying' && phase !== 'Succeeded') || image !== undefined,
  },
  {
    cel: `!has(oldSelf.phase) || (has(self.phase) && (self.phase == oldSelf.phase || ${ORDER}[self.phase] > ${ORDER}[oldSelf.phase] && ${ORDER}[oldSelf.phase] < 5))`,
    message: 'phase must go forward, and a deployment that has ended cannot be changed',
    code: 'INVALID_STATE',
    field: 'phase',
    test: (next, previous) =>
      next.phase !== undefined ? isPhaseChangeAllowed(previous.phase, next.phase) : previous.phase === undefined,
  },
  {
    cel: '!has(oldSelf.cancelledAt) || (has(self.cancelledAt) && self.cancelledAt == oldSelf.cancelledAt)',
    message: 'a cancelled deployment does not go on: ask for another one',
    code: 'INVALID_STATE',
    field: 'cancelledAt',
    test: (next, previous) => previous.cancelledAt === undefined || next.cancelledAt === previous.cancelledAt,
  },
  {
    cel: '!has(oldSelf.image) || (has(self.image) && self.image == oldSelf.image)',
    message: 'the image of a deployment cannot be changed once it is known',
    code: 'INVALID_STATE',
    field: 'image',
    test: (next, previous) => previous.image === undefined || next.image === previous.image,
  },
]

/** One build or release of an app, site or function. Only the platform writes it; callers request one at its owner. */
export const DeploymentRecord = defineKind({
  group: 'delivery',
  kind: 'DeploymentRecord',
  restNaming: { collection: 'deployments' },
  shortNames: ['drec'],
  placement: 'group',
  name: 'uuid',
  area: 'deployments',
  aggregate: false,
  isPart: true,
  forms: { 'kernel/deployments/read': READ_VERBS },
  description: 'One build or release of an app, a static web app or a function. Its name is the id of the deployment.',
  spec,
  status: statusWith({
    number: z.int().describe('Number of the deployment among those of its owner, from 1'),
    stage: Phase.describe('Phase of the deployment; only goes forward'),
    image: z.string().describe('Image that is served; absent until it is built'),
    commitSha: z.string().describe('Commit that was built'),
    lastMessage: z.string().describe('Last message about it, in one sentence'),
    triedSince: DateTime.describe('Since when attempts to start its build fail; absent if none has failed'),
    startedAt: DateTime.describe('When it left the queue'),
    finishedAt: DateTime.describe('When it ended'),
    logLines: z.int().describe('Stored lines of its log; absent until its build has ended'),
  }),
  immutable: ['ownerCollection', 'ownerName', 'strategy'],
  rules,
  columns: [
    ...statusColumns,
    { name: 'Owner', path: '.spec.ownerName' },
    { name: 'Number', path: '.status.number', type: 'integer' },
    { name: 'Stage', path: '.status.stage' },
    { name: 'Branch', path: '.spec.branch' },
    { name: 'Commit', path: '.spec.commitSha' },
    { name: 'Image', path: '.status.image', priority: 1 },
    { name: 'Message', path: '.status.lastMessage', priority: 1 },
  ],
  selectable: ['spec.ownerName', 'spec.ownerCollection'],
})
export type DeploymentRecord = ObjectOf<typeof DeploymentRecord>

/** Returns the phase of a deployment. What people and external builders state counts at once. */
export function deploymentPhaseOf({ spec, status }: Pick<DeploymentRecord, 'spec' | 'status'>): DeploymentPhase {
  const seen = status?.stage ?? 'Queued'
  if (spec.cancelledAt !== undefined && !isFinalPhase(seen)) return 'Cancelled'
  if (spec.strategy !== 'Reported' || spec.phase === undefined) return seen
  // It has succeeded only once it is served.
  return furthestPhase(seen, spec.phase === 'Succeeded' ? 'Deploying' : spec.phase)
}

/** Returns the object that the log belongs to, and is deleted with. */
export function buildLogOwnerOf({ metadata: { namespace = '', name, uid = '' } }: Pick<KubeObject, 'metadata'>) {
  return { apiVersion: DeploymentRecord.apiVersion, kind: DeploymentRecord.kind, namespace, name, uid }
}

/** In the spec of each kind that is deployed: the request of kubectl, which cannot write deployments. */
export const CancelledDeployment = Uuid.optional().describe(
  'Id of a deployment to cancel while it waits or is being built; the served one stays',
)

/** In the status of each kind that is deployed. */
export const deployedStatus = {
  release: z
    .object({
      deploymentId: z.string().describe('Id of the DeploymentRecord'),
      state: z.enum(['RollingOut', 'Serving', 'Failed']).describe('State of the rollout'),
      message: z.string().optional().describe('Why it failed, in one sentence'),
      failedBefore: z
        .string()
        .optional()
        .describe('Time of the failure of an earlier rollout that Kubernetes showed when this one began'),
    })
    .describe('The deployment to serve; absent before the first one'),
  servingDeployment: z.string().describe('Id of the DeploymentRecord that is served'),
  servingImage: z.string().describe('Image that is served'),
  commit: z.string().describe('Commit that is served; absent if that is not known'),
}
