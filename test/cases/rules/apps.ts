import { OUTPUTS } from '../../../src/contracts/references.ts'
import { AppRuntime } from '../../../src/crds/appruntimes.ts'
import { PlatformApp } from '../../../src/crds/apps.ts'
import { DeploymentRecord } from '../../../src/crds/deployments.ts'
import { CIDRS, cases, fixed, ID, type RuleCase, TAGS } from './case.ts'

const IMAGE = 'docker.io/library/nginx:1.29'
const REPOSITORY = { sourceKind: 'Repository', image: undefined, repositoryUrl: 'https://git.example.com/shop/site' }
const secret = { vaultName: 'keys', secretName: 'Token' }
const disk = { name: 'disk', kind: 'Persistent', size: '1Gi', mountPath: '/srv' }
const policy = { schedule: '0 2 * * *', retentionDays: 7 }
const hook = { component: 'app', when: 'Before', command: ['sync'] }
const many = (count: number, variable: object) =>
  Array.from({ length: count }, (_, index) => ({ name: `A${index}`, ...variable }))

const ONE = 'each variable in env must have exactly one of value, secret and output'
const NAMED = `outputs are, of ${Object.entries(OUTPUTS)
  .map(([name, { plain, secret: more }]) => `${name}: ${[...plain, ...more].join(', ')}`)
  .join('; of ')}`
const SUM = 'values in env must have at most 262144 characters together'
const REFERENCES = 'env and volumes may refer to at most 20 secrets and outputs together'
const VOLUME =
  'a Persistent volume must have a size, a Secret volume a secret and nothing else, and only Persistent ones may have a storageClass'
const STAYS = 'a Persistent volume cannot be removed before the resource is deleted: its data would be lost'
const CLASS = 'storageClass of a volume cannot be changed after creation'
const SHRINKS = 'size of a volume may grow but not shrink: volumes cannot give space back'
const PATHS = 'each volume must have its own mountPath, other than /var/run/secrets/freehold.dev/identity'
const SOURCE = 'deploymentSourceId needs repositoryUrl'
const URL = 'repositoryUrl is required for sourceKind Repository, and not allowed for others'
const PICTURE = 'image is required for sourceKind Image, and not allowed for others'
const BUILT = 'rollback is only for apps whose code is built: set image to the earlier image instead'
const NOW = '2026-01-01T00:00:00Z'
const BACK = { deploymentId: '5b0c1a6e-6c0e-4d49-8a3b-0d9a7cf3b1f2', requestedAt: NOW }
const DOCKERFILE = 'runtime must not be set where a Dockerfile builds'
const VERSION = 'runtimeVersion needs runtime'
const BOUNDS = 'minReplicas and maxReplicas must be set together, and minReplicas must not be the larger one'
const NOTHING = 'backupPolicy needs a Persistent volume to back up'
const CHOSEN = 'volumes of backupPolicy must name Persistent volumes of the resource'
const HOOKS = 'hooks of backupPolicy must name the component app, the only one'

const APPS: readonly RuleCase[] = cases(PlatformApp, { sourceKind: 'Image', image: IMAGE }, [
  ['an image', undefined, {}],
  ['a rollback', undefined, { ...REPOSITORY, rollback: BACK }],
  ['a rollback with an image', {}, { rollback: BACK }, BUILT],
  ['a request to build', undefined, { ...REPOSITORY, deploy: { requestedAt: NOW } }],
  [
    'a build with an image',
    undefined,
    { deploy: { requestedAt: NOW } },
    'deploy needs repositoryUrl: it builds what is in a repository',
  ],
  ['a repository', undefined, { ...REPOSITORY, deploymentSourceId: ID, runtime: 'nodejs', runtimeVersion: '24' }],
  ['volumes with a policy', undefined, { volumes: [disk], backupPolicy: { ...policy, hooks: [hook] } }],
  ['minReplicas with maxReplicas', undefined, { minReplicas: 1, maxReplicas: 3 }],
  ['another cluster', {}, { clusterId: ID }, fixed('clusterId')],
  ['another kind of source', {}, { sourceKind: 'Upload', image: undefined }, fixed('sourceKind')],
  ['a tag key of the platform', undefined, { tags: { 'freehold.dev/x': '1' } }, TAGS],
  ['an invalid network', undefined, { allowedCidrs: '10.0.0.1/8' }, CIDRS],
  ['a source without a repository', undefined, { deploymentSourceId: ID }, SOURCE],
  ['a repository with an image', undefined, { repositoryUrl: REPOSITORY.repositoryUrl }, URL],
  ['an image with a repository', undefined, { ...REPOSITORY, image: IMAGE }, PICTURE],
  ['a runtime with a Dockerfile', undefined, { runtime: 'go', dockerfilePath: 'Dockerfile' }, DOCKERFILE],
  ['a version without a runtime', undefined, { runtimeVersion: '24' }, VERSION],
  ['minReplicas alone', undefined, { minReplicas: 1 }, BOUNDS],
  ['minReplicas above maxReplicas', undefined, { minReplicas: 3, maxReplicas: 2 }, BOUNDS],
  ['a duplicate path', undefined, { volumes: [disk, { ...disk, name: 'other' }] }, PATHS],
  ['a variable with two values', undefined, { env: [{ name: 'A', value: '1', secret }] }, ONE],
  [
    'an unknown output',
    undefined,
    { env: [{ name: 'A', output: { collection: 'containerinstances', name: 'site', output: 'host' } }] },
    NAMED,
  ],
  ['values of more than 262144 characters', undefined, { env: many(9, { value: 'x'.repeat(32_768) }) }, SUM],
  ['21 references', undefined, { env: many(21, { secret }) }, REFERENCES],
  ['a Persistent volume without a size', undefined, { volumes: [{ ...disk, size: undefined }] }, VOLUME],
  ['the removal of a volume', { volumes: [disk] }, { volumes: [] }, STAYS],
  ['another storage class', { volumes: [disk] }, { volumes: [{ ...disk, storageClass: 'fast' }] }, CLASS],
  ['a smaller volume', { volumes: [{ ...disk, size: '2Gi' }] }, { volumes: [disk] }, SHRINKS],
  ['a policy without a volume', undefined, { backupPolicy: policy }, NOTHING],
  [
    'a policy for a missing volume',
    undefined,
    { volumes: [disk], backupPolicy: { ...policy, volumes: ['other'] } },
    CHOSEN,
  ],
  [
    'a hook in an unknown component',
    undefined,
    { volumes: [disk], backupPolicy: { ...policy, hooks: [{ ...hook, component: 'web' }] } },
    HOOKS,
  ],
])

const FORWARD = 'phase must go forward, and a deployment that has ended cannot be changed'
const REPORTED = 'phase may be set only for what is built elsewhere'

const DEPLOYMENTS: readonly RuleCase[] = cases(
  DeploymentRecord,
  { ownerCollection: 'apps', ownerName: 'shop', strategy: 'Reported' },
  [
    ['phase Queued', undefined, { phase: 'Queued' }],
    ['the next phase', { phase: 'Building' }, { phase: 'Deploying', image: IMAGE }],
    ['phase Cancelled', { phase: 'Queued' }, { phase: 'Cancelled' }],
    ['another collection', {}, { ownerCollection: 'functions' }, fixed('ownerCollection')],
    ['another owner', {}, { ownerName: 'other' }, fixed('ownerName')],
    ['another strategy', {}, { strategy: 'Build' }, fixed('strategy')],
    ['strategy Image without an image', undefined, { strategy: 'Image' }, 'strategy Image needs an image'],
    ['a phase with strategy Build', undefined, { strategy: 'Build', phase: 'Building' }, REPORTED],
    [
      'phase Succeeded without an image',
      undefined,
      { phase: 'Succeeded' },
      'image is required from phase Deploying on',
    ],
    ['an earlier phase', { phase: 'Building' }, { phase: 'Cloning' }, FORWARD],
    ['its cancellation', { phase: 'Building' }, { phase: 'Building', cancelledAt: NOW }],
    [
      'a change after cancellation',
      { cancelledAt: NOW },
      {},
      'a cancelled deployment does not go on: ask for another one',
    ],
    ['a change of a final phase', { phase: 'Failed' }, { phase: 'Superseded' }, FORWARD],
    [
      'another image',
      { image: IMAGE },
      { image: 'docker.io/library/nginx:1.30' },
      'the image of a deployment cannot be changed once it is known',
    ],
  ],
)

const runtime = { title: 'Zig', versions: [{ version: '1', builderImage: 'docker.io/library/zig:1' }] }

export const APP_RULES: readonly RuleCase[] = [
  ...APPS,
  ...DEPLOYMENTS,
  ...cases(AppRuntime, runtime, [['a plain runtime', undefined, {}]]),
]
