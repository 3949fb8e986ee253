import { IDENTITY_PATH } from '../../../src/contracts/managedIdentities.ts'
import { OUTPUTS } from '../../../src/contracts/references.ts'
import { ContainerInstance } from '../../../src/crds/containerinstances.ts'
import { PlatformJob } from '../../../src/crds/jobs.ts'
import { CIDRS, cases, fixed, ID, type RuleCase, TAGS } from './case.ts'

const IMAGE = 'docker.io/library/python'
const OTHERS = {
  clusterId: ID,
  tag: '3.13',
  computePlan: 'job-large',
  command: ['python'],
  args: ['-V'],
  env: { A: 'b' },
  retries: 1,
  noRetryExitCodes: [2],
  activeDeadlineSeconds: 60,
  ttlSecondsAfterFinished: 60,
  runAsUser: 1000,
  tags: { team: 'search' },
}
const NAMES = 'names in env must have at most 128 letters, digits and underscores, and must not begin with a digit'
const SUM = 'values in env must have at most 262144 characters together'
const long = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`A${index}`, 'x'.repeat(32_768)]))
const references = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`A${index}`, '@vault(keys/token)']))

const web = { name: 'web', image: 'docker.io/library/nginx:1.29', ports: [{ name: 'http', port: 8080 }] }
const worker = { name: 'worker', image: 'docker.io/library/node:24' }
const disk = { name: 'disk', kind: 'Persistent', size: '1Gi' }
const mounted = { ...web, mounts: [{ volume: 'disk', path: '/srv' }] }
const policy = { schedule: '0 2 * * *', retentionDays: 7 }
const secret = { vaultName: 'keys', secretName: 'Token' }
const only = (change: object) => ({ components: [{ ...web, ...change }] })
const TARGET = 'isPublic needs a component with a Tcp port; publicComponent and publicPort must name an existing one'
const BACKED_UP = 'backupPolicy needs a Persistent volume to back up'
const VOLUME =
  'a Persistent volume must have a size, a Secret volume a secret and nothing else, and only Persistent ones may have a storageClass'
const PROBED = (probe: string) =>
  `${probe} needs a command if its kind is Exec, and otherwise a port, unless its component has a Tcp port`
const OUTPUT_WORDS = `outputs are, of ${Object.entries(OUTPUTS)
  .map(([name, { plain, secret: hidden }]) => `${name}: ${[...plain, ...hidden].join(', ')}`)
  .join('; of ')}`
const CYCLE = 'dependsOn must not lead from a component back to itself'

const CONTAINER_RULES: readonly RuleCase[] = cases(ContainerInstance, { components: [web] }, [
  [
    'admits components with all that they can have',
    undefined,
    {
      components: [
        {
          ...mounted,
          command: ['nginx'],
          env: [
            { name: 'A', value: '1' },
            { name: 'B', secret },
            { name: 'C', output: { collection: 'relationalclusters', name: 'orders', output: 'host' } },
          ],
          livenessProbe: { kind: 'Exec', command: ['true'] },
          runAsUser: 1000,
        },
        { ...worker, dependsOn: ['web'], computePlan: 'container-nano' },
      ],
      volumes: [disk, { name: 'keys', kind: 'Secret', secret }, { name: 'tmp', kind: 'Ephemeral' }],
      isPublic: true,
      customDomains: ['shop.example.com'],
      parameters: { region: 'north' },
      backupPolicy: { ...policy, volumes: ['disk'], hooks: [{ component: 'web', when: 'Before', command: ['sync'] }] },
      redeployedAt: { web: '2026-01-01T00:00:00Z' },
      registryCredential: secret,
    },
  ],
  [
    'admits probes of all kinds',
    undefined,
    only({
      livenessProbe: { kind: 'Http' },
      readinessProbe: { kind: 'Tcp', port: 9000 },
      startupProbe: { kind: 'Exec', command: ['true'] },
    }),
  ],
  ['refuses another cluster', {}, { clusterId: ID }, fixed('clusterId')],
  ['refuses a tag key of ours', undefined, { tags: { 'freehold.dev/x': '1' } }, TAGS],
  ['refuses networks that are none', undefined, { allowedCidrs: 'here' }, CIDRS],
  [
    'refuses a dependency that is not there',
    undefined,
    only({ dependsOn: ['db'] }),
    'dependsOn must name other components of the resource',
  ],
  ['refuses a component that depends on itself', undefined, only({ dependsOn: ['web'] }), CYCLE],
  [
    'refuses two that depend on each other',
    undefined,
    {
      components: [
        { ...web, dependsOn: ['worker'] },
        { ...worker, dependsOn: ['web'] },
      ],
    },
    CYCLE,
  ],
  [
    'admits a chain of ten, the last first',
    undefined,
    {
      components: Array.from({ length: 10 }, (_, at) => ({
        ...worker,
        name: `c${at}`,
        dependsOn: at === 9 ? [] : [`c${at + 1}`],
      })),
    },
  ],
  [
    'refuses a port twice',
    undefined,
    only({
      ports: [
        { name: 'a', port: 80 },
        { name: 'b', port: 80 },
      ],
    }),
    'no two ports of a component may have the same number and protocol',
  ],
  ...['livenessProbe', 'readinessProbe', 'startupProbe'].map(
    (probe) =>
      [`refuses a ${probe} without a command`, undefined, only({ [probe]: { kind: 'Exec' } }), PROBED(probe)] as [
        string,
        undefined,
        object,
        string,
      ],
  ),
  [
    'refuses a request of cpu over its limit',
    undefined,
    only({ cpuRequest: '2', cpuLimit: '1' }),
    'cpuLimit of a component must not be less than its cpuRequest',
  ],
  [
    'refuses a request of memory over its limit',
    undefined,
    only({ memoryRequest: '2Gi', memoryLimit: '1Gi' }),
    'memoryLimit of a component must not be less than its memoryRequest',
  ],
  ['refuses root', undefined, only({ runAsUser: 0 }), 'runAsUser must not be 0: containers never run as root'],
  [
    'refuses a mount of a volume that is not there',
    undefined,
    { components: [mounted] },
    'mounts must name volumes of the resource',
  ],
  [
    'refuses a variable with two values',
    undefined,
    only({ env: [{ name: 'A', value: '1', secret }] }),
    'each variable in env must have exactly one of value, secret and output',
  ],
  [
    'refuses an output that there is not',
    undefined,
    only({ env: [{ name: 'A', output: { collection: 'vectorclusters', name: 'v', output: 'password' } }] }),
    OUTPUT_WORDS,
  ],
  [
    'refuses values that are too long together',
    undefined,
    only({ env: Array.from({ length: 9 }, (_, at) => ({ name: `A${at}`, value: 'x'.repeat(32_000) })) }),
    'values in env must have at most 262144 characters together',
  ],
  [
    'refuses twenty-one references',
    undefined,
    only({ env: Array.from({ length: 21 }, (_, at) => ({ name: `A${at}`, secret })) }),
    'env and volumes may refer to at most 20 secrets and outputs together',
  ],
  ['refuses a Persistent volume without a size', undefined, { volumes: [{ name: 'd', kind: 'Persistent' }] }, VOLUME],
  ['refuses a Secret volume without a secret', undefined, { volumes: [{ name: 'd', kind: 'Secret' }] }, VOLUME],
  [
    'refuses to take a Persistent volume away',
    { volumes: [disk] },
    {},
    'a Persistent volume cannot be removed before the resource is deleted: its data would be lost',
  ],
  [
    'refuses another storage class',
    { volumes: [disk] },
    { volumes: [{ ...disk, storageClass: 'fast' }] },
    'storageClass of a volume cannot be changed after creation',
  ],
  ['admits a volume that grows', { volumes: [disk] }, { volumes: [{ ...disk, size: '2Gi' }] }],
  [
    'refuses a volume that shrinks',
    { volumes: [disk] },
    { volumes: [{ ...disk, size: '512Mi' }] },
    'size of a volume may grow but not shrink: volumes cannot give space back',
  ],
  ['refuses a public host without a port', undefined, { components: [worker], isPublic: true }, TARGET],
  [
    'refuses a public component that is not there, also while nothing is public',
    undefined,
    { publicComponent: 'db' },
    'publicComponent must name one of the components',
  ],
  [
    'refuses a volume where the credentials of its identity are',
    undefined,
    {
      volumes: [disk],
      managedIdentity: true,
      components: [{ ...web, mounts: [{ volume: 'disk', path: IDENTITY_PATH }] }],
    },
    `no volume may be mounted at ${IDENTITY_PATH}, where the credentials of the managed identity are`,
  ],
  ['refuses a backup of nothing', undefined, { backupPolicy: policy }, BACKED_UP],
  [
    'refuses a backup of no volume of those that are there',
    undefined,
    { volumes: [disk], backupPolicy: { ...policy, volumes: [] } },
    BACKED_UP,
  ],
  [
    'refuses a backup of a volume that is not there',
    undefined,
    { volumes: [disk], backupPolicy: { ...policy, volumes: ['attic'] } },
    'volumes of backupPolicy must name Persistent volumes of the resource',
  ],
  [
    'refuses a hook in a component that is not there',
    undefined,
    { volumes: [disk], backupPolicy: { ...policy, hooks: [{ component: 'db', when: 'After', command: ['sync'] }] } },
    'hooks of backupPolicy must name components of the resource',
  ],
  [
    'refuses a name of a parameter with a space',
    undefined,
    { parameters: { 'a b': '1' } },
    'names of parameters must have 1 to 128 letters, digits or _.-',
  ],
])

export const WORKLOAD_RULES: readonly RuleCase[] = [
  ...CONTAINER_RULES,
  ...cases(PlatformJob, { image: IMAGE }, [
    ['admits an image', undefined, {}],
    ['admits the same again', {}, {}],
    ['refuses another image', {}, { image: 'docker.io/library/node' }, fixed('image')],
    ...Object.entries(OTHERS).map(
      ([field, value]) =>
        [`refuses another ${field}`, {}, { [field]: value }, fixed(field)] as [string, object, object, string],
    ),
    ['admits its cancellation', {}, { cancelled: true }],
    ['refuses to go on', { cancelled: true }, {}, 'a cancelled job does not go on: start another one'],
    ['refuses a tag key of ours', undefined, { tags: { 'freehold.dev/x': '1' } }, TAGS],
    ['admits plain values and vault references', undefined, { env: { A: '1', _b2: '@vault(keys/Token-1)' } }],
    ['refuses a variable with a hyphen', undefined, { env: { 'a-b': '1' } }, NAMES],
    ['refuses a variable that begins with a digit', undefined, { env: { '1a': '1' } }, NAMES],
    ['admits eight long values', undefined, { env: long(8) }],
    ['refuses nine', undefined, { env: long(9) }, SUM],
    ['admits twenty vault references', undefined, { env: references(20) }],
    ['refuses twenty-one', undefined, { env: references(21) }, 'env may refer to at most 20 vault secrets'],
  ]),
]
