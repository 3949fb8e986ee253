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
  ['admits an image', undefined, {}],
  ['admits what was built earlier', undefined, { ...REPOSITORY, rollback: BACK }],
  ['refuses what was built earlier where an image is named', {}, { rollback: BACK }, BUILT],
  ['admits a request to build', undefined, { ...REPOSITORY, deploy: { requestedAt: NOW } }],
  [
    'refuses to build an image',
    undefined,
    { deploy: { requestedAt: NOW } },
    'deploy needs repositoryUrl: it builds what is in a repository',
  ],
  [
    'admits a repository',
    undefined,
    { ...REPOSITORY, deploymentSourceId: ID, runtime: 'nodejs', runtimeVersion: '24' },
  ],
  ['admits volumes with a policy', undefined, { volumes: [disk], backupPolicy: { ...policy, hooks: [hook] } }],
  ['admits bounds', undefined, { minReplicas: 1, maxReplicas: 3 }],
  ['refuses another cluster', {}, { clusterId: ID }, fixed('clusterId')],
  ['refuses another kind of source', {}, { sourceKind: 'Upload', image: undefined }, fixed('sourceKind')],
  ['refuses a tag key of ours', undefined, { tags: { 'freehold.dev/x': '1' } }, TAGS],
  ['refuses a network that is none', undefined, { allowedCidrs: '10.0.0.1/8' }, CIDRS],
  ['refuses a source without a repository', undefined, { deploymentSourceId: ID }, SOURCE],
  ['refuses a repository beside an image', undefined, { repositoryUrl: REPOSITORY.repositoryUrl }, URL],
  ['refuses an image beside a repository', undefined, { ...REPOSITORY, image: IMAGE }, PICTURE],
  ['refuses a runtime beside a Dockerfile', undefined, { runtime: 'go', dockerfilePath: 'Dockerfile' }, DOCKERFILE],
  ['refuses a version of no runtime', undefined, { runtimeVersion: '24' }, VERSION],
  ['refuses one bound alone', undefined, { minReplicas: 1 }, BOUNDS],
  ['refuses bounds the wrong way round', undefined, { minReplicas: 3, maxReplicas: 2 }, BOUNDS],
  ['refuses one path twice', undefined, { volumes: [disk, { ...disk, name: 'other' }] }, PATHS],
  ['refuses a variable with two values', undefined, { env: [{ name: 'A', value: '1', secret }] }, ONE],
  [
    'refuses an output that is none',
    undefined,
    { env: [{ name: 'A', output: { collection: 'containerinstances', name: 'site', output: 'host' } }] },
    NAMED,
  ],
  ['refuses too many characters', undefined, { env: many(9, { value: 'x'.repeat(32_768) }) }, SUM],
  ['refuses too many references', undefined, { env: many(21, { secret }) }, REFERENCES],
  ['refuses a Persistent volume without a size', undefined, { volumes: [{ ...disk, size: undefined }] }, VOLUME],
  ['refuses to take a volume away', { volumes: [disk] }, { volumes: [] }, STAYS],
  ['refuses another class', { volumes: [disk] }, { volumes: [{ ...disk, storageClass: 'fast' }] }, CLASS],
  ['refuses to shrink a volume', { volumes: [{ ...disk, size: '2Gi' }] }, { volumes: [disk] }, SHRINKS],
  ['refuses a policy without a volume', undefined, { backupPolicy: policy }, NOTHING],
  [
    'refuses a policy for a volume that is not there',
    undefined,
    { volumes: [disk], backupPolicy: { ...policy, volumes: ['other'] } },
    CHOSEN,
  ],
  [
    'refuses a hook in another component',
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
    ['admits one that waits', undefined, { phase: 'Queued' }],
    ['admits the next phase', { phase: 'Building' }, { phase: 'Deploying', image: IMAGE }],
    ['admits an end', { phase: 'Queued' }, { phase: 'Cancelled' }],
    ['refuses another collection', {}, { ownerCollection: 'functions' }, fixed('ownerCollection')],
    ['refuses another owner', {}, { ownerName: 'other' }, fixed('ownerName')],
    ['refuses another strategy', {}, { strategy: 'Build' }, fixed('strategy')],
    ['refuses to release no image', undefined, { strategy: 'Image' }, 'strategy Image needs an image'],
    ['refuses a phase of what is built here', undefined, { strategy: 'Build', phase: 'Building' }, REPORTED],
    ['refuses to deploy nothing', undefined, { phase: 'Succeeded' }, 'image is required from phase Deploying on'],
    ['refuses to go back', { phase: 'Building' }, { phase: 'Cloning' }, FORWARD],
    ['admits its cancellation', { phase: 'Building' }, { phase: 'Building', cancelledAt: NOW }],
    ['refuses to go on', { cancelledAt: NOW }, {}, 'a cancelled deployment does not go on: ask for another one'],
    ['refuses to change an end', { phase: 'Failed' }, { phase: 'Superseded' }, FORWARD],
    [
      'refuses another image',
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
  ...cases(AppRuntime, runtime, [['admits a language', undefined, {}]]),
]
