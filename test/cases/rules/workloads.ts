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
    'components with all fields',
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
    'probes of all kinds',
    undefined,
    only({
      livenessProbe: { kind: 'Http' },
      readinessProbe: { kind: 'Tcp', port: 9000 },
      startupProbe: { kind: 'Exec', command: ['true'] },
    }),
  ],
  ['another cluster', {}, { clusterId: ID }, fixed('clusterId')],
  ['a tag key of the platform', undefined, { tags: { 'freehold.dev/x': '1' } }, TAGS],
  ['invalid networks', undefined, { allowedCidrs: 'here' }, CIDRS],
  [
    'an unknown dependency',
    undefined,
    only({ dependsOn: ['db'] }),
    'dependsOn must name other components of the resource',
  ],
  ['a component that depends on itself', undefined, only({ dependsOn: ['web'] }), CYCLE],
  [
    'two components that depend on each other',
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
    'a chain of ten dependencies, in reverse order',
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
    'a duplicate port',
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
      [`a ${probe} without a command`, undefined, only({ [probe]: { kind: 'Exec' } }), PROBED(probe)] as [
        string,
        undefined,
        object,
        string,
      ],
  ),
  [
    'a cpuRequest above cpuLimit',
    undefined,
    only({ cpuRequest: '2', cpuLimit: '1' }),
    'cpuLimit of a component must not be less than its cpuRequest',
  ],
  [
    'a memoryRequest above memoryLimit',
    undefined,
    only({ memoryRequest: '2Gi', memoryLimit: '1Gi' }),
    'memoryLimit of a component must not be less than its memoryRequest',
  ],
  ['user 0', undefined, only({ runAsUser: 0 }), 'runAsUser must not be 0: containers never run as root'],
  ['a mount of an unknown volume', undefined, { components: [mounted] }, 'mounts must name volumes of the resource'],
  [
    'a variable with two values',
    undefined,
    only({ env: [{ name: 'A', value: '1', secret }] }),
    'each variable in env must have exactly one of value, secret and output',
  ],
  [
    'an unknown output',
    undefined,
    only({ env: [{ name: 'A', output: { collection: 'vectorclusters', name: 'v', output: 'password' } }] }),
    OUTPUT_WORDS,
  ],
  [
    'values of more than 262144 characters',
    undefined,
    only({ env: Array.from({ length: 9 }, (_, at) => ({ name: `A${at}`, value: 'x'.repeat(32_000) })) }),
    'values in env must have at most 262144 characters together',
  ],
  [
    '21 references',
    undefined,
    only({ env: Array.from({ length: 21 }, (_, at) => ({ name: `A${at}`, secret })) }),
    'env and volumes may refer to at most 20 secrets and outputs together',
  ],
  ['a Persistent volume without a size', undefined, { volumes: [{ name: 'd', kind: 'Persistent' }] }, VOLUME],
  ['a Secret volume without a secret', undefined, { volumes: [{ name: 'd', kind: 'Secret' }] }, VOLUME],
  [
    'the removal of a Persistent volume',
    { volumes: [disk] },
    {},
    'a Persistent volume cannot be removed before the resource is deleted: its data would be lost',
  ],
  [
    'another storage class',
    { volumes: [disk] },
    { volumes: [{ ...disk, storageClass: 'fast' }] },
    'storageClass of a volume cannot be changed after creation',
  ],
  ['a volume that grows', { volumes: [disk] }, { volumes: [{ ...disk, size: '2Gi' }] }],
  [
    'a volume that shrinks',
    { volumes: [disk] },
    { volumes: [{ ...disk, size: '512Mi' }] },
    'size of a volume may grow but not shrink: volumes cannot give space back',
  ],
  ['a public host without a port', undefined, { components: [worker], isPublic: true }, TARGET],
  [
    'an unknown publicComponent, even without isPublic',
    undefined,
    { publicComponent: 'db' },
    'publicComponent must name one of the components',
  ],
  [
    'a volume mounted at the path of the identity',
    undefined,
    {
      volumes: [disk],
      managedIdentity: true,
      components: [{ ...web, mounts: [{ volume: 'disk', path: IDENTITY_PATH }] }],
    },
    `no volume may be mounted at ${IDENTITY_PATH}, where the credentials of the managed identity are`,
  ],
  ['a backupPolicy without volumes', undefined, { backupPolicy: policy }, BACKED_UP],
  [
    'a backupPolicy with an empty list of volumes',
    undefined,
    { volumes: [disk], backupPolicy: { ...policy, volumes: [] } },
    BACKED_UP,
  ],
  [
    'a backupPolicy with an unknown volume',
    undefined,
    { volumes: [disk], backupPolicy: { ...policy, volumes: ['attic'] } },
    'volumes of backupPolicy must name Persistent volumes of the resource',
  ],
  [
    'a hook in an unknown component',
    undefined,
    { volumes: [disk], backupPolicy: { ...policy, hooks: [{ component: 'db', when: 'After', command: ['sync'] }] } },
    'hooks of backupPolicy must name components of the resource',
  ],
  [
    'a parameter name with a space',
    undefined,
    { parameters: { 'a b': '1' } },
    'names of parameters must have 1 to 128 letters, digits or _.-',
  ],
])

export const WORKLOAD_RULES: readonly RuleCase[] = [
  ...CONTAINER_RULES,
  ...cases(PlatformJob, { image: IMAGE }, [
    ['an image', undefined, {}],
    ['an unchanged spec', {}, {}],
    ['another image', {}, { image: 'docker.io/library/node' }, fixed('image')],
    ...Object.entries(OTHERS).map(
      ([field, value]) =>
        [`another ${field}`, {}, { [field]: value }, fixed(field)] as [string, object, object, string],
    ),
    ['its cancellation', {}, { cancelled: true }],
    ['a change after cancellation', { cancelled: true }, {}, 'a cancelled job does not go on: start another one'],
    ['a tag key of the platform', undefined, { tags: { 'freehold.dev/x': '1' } }, TAGS],
    ['plain values and vault references', undefined, { env: { A: '1', _b2: '@vault(keys/Token-1)' } }],
    ['a variable with a hyphen', undefined, { env: { 'a-b': '1' } }, NAMES],
    ['a variable that begins with a digit', undefined, { env: { '1a': '1' } }, NAMES],
    ['values of 262144 characters', undefined, { env: long(8) }],
    ['values of more than 262144 characters', undefined, { env: long(9) }, SUM],
    ['20 vault references', undefined, { env: references(20) }],
    ['21 vault references', undefined, { env: references(21) }, 'env may refer to at most 20 vault secrets'],
  ]),
]
