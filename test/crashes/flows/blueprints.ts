import { executionSecretName, valueSecretName } from '../../../src/contracts/blueprints/executions.ts'
import { entryName } from '../../../src/contracts/vaults/names.ts'
import { BlueprintSource } from '../../../src/crds/blueprintSources.ts'
import { BlueprintExecution, BlueprintTemplate } from '../../../src/crds/blueprints.ts'
import { DEFAULT_BLUEPRINTS } from '../../../src/crds/defaultBlueprints.ts'
import type { AnyKind } from '../../../src/crds/define.ts'
import { PlatformJob } from '../../../src/crds/jobs.ts'
import { SecretVault, VaultEntry } from '../../../src/crds/vaults.ts'
import type { Flow, Step } from '../flow.ts'
import { GROUP, HOME, OUTER } from '../seeds.ts'
import type { World } from '../world.ts'

const FIRST = 'aaaaaaaa-0000-4000-8000-000000000001'
const SECOND = 'aaaaaaaa-0000-4000-8000-000000000002'
const CONTROLLERS = ['blueprintexecution', 'blueprinttemplate', 'secretvault', 'vaultentry', 'platformjob']
const ENTRY = entryName('safe', 'Token')

const HEAD = { slug: 'shop', blueprintName: 'Shop', version: '1.0.0', name: 'shop', resourceGroup: GROUP }
const common = {
  ...HEAD,
  clusterId: FIRST,
  startedBy: FIRST,
  lateMark: 'k3',
  parameters: { token: '***' },
  secretParameters: ['token'],
}
const vault = { component: 'vault', collection: 'secretvaults', resourceName: 'safe', objectName: 'safe', body: '{}' }
const token = {
  component: 'token',
  collection: 'secrets',
  resourceName: 'Token',
  objectName: ENTRY,
  dependsOn: ['vault'],
  body: '{}',
  value: 'a %{k3.parameters.token} of %{k3.components.vault.name}',
}
const entrySpec = {
  vaultName: 'safe',
  secretName: 'Token',
  valueFrom: { secretName: valueSecretName(ENTRY), key: 'value' },
}
// As the facade stores it: with the defaults of the kind.
const manifest = (kind: AnyKind, spec: object) => ({ manifest: JSON.stringify(kind.spec.parse(spec)) })
const job = (dependsOn: string[], spec: object) => ({
  component: 'job',
  collection: 'jobs',
  resourceName: 'report',
  objectName: 'report',
  dependsOn,
  body: '{}',
  ...manifest(PlatformJob, { image: 'python', computePlan: 'job-small', ...spec }),
})

const stateOf = async (world: World, name: string) =>
  ((await world.find(BlueprintExecution.resource, name, OUTER))?.status as { state?: string } | undefined)?.state

const deploys = (name: string, steps: object[], more: object = {}): Step => ({
  user: `deploys it as ${name.slice(-1)}`,
  async act(world) {
    await world.make(BlueprintExecution, name, { ...common, steps, ...more }, OUTER)
    await world.makeSecret(executionSecretName(name), { token: 'hunter2 %{k3.parameters.token}' }, OUTER)
  },
})
const until = (step: Step, name: string, state: string): Step => ({
  ...step,
  until: async (world) => (await stateOf(world, name)) === state,
})

async function facts(world: World): Promise<object> {
  const states = await Promise.all([FIRST, SECOND].map((name) => stateOf(world, name)))
  const entry = (await world.find(VaultEntry.resource, ENTRY))?.spec as VaultEntry['spec'] | undefined
  return {
    states,
    runs: world.engines.startedJobs,
    versions: entry?.history?.versions?.length,
    isLeft: (await world.secret(valueSecretName(ENTRY))) !== undefined,
  }
}

export const blueprintFlows: readonly Flow[] = [
  {
    title: 'a blueprint creates a vault, a generated secret in it, and a job with the secret',
    controllers: CONTROLLERS,
    steps: [
      until(
        deploys(
          FIRST,
          [
            { ...vault, ...manifest(SecretVault, {}) },
            { ...token, ...manifest(VaultEntry, entrySpec) },
            job(['token'], { env: { TOKEN: '@vault(safe/Token)' } }),
          ],
          {
            outputs: [{ name: 'job', value: '%{k3.components.job.name} in %{k3.components.vault.id}' }],
          },
        ),
        FIRST,
        'Succeeded',
      ),
    ],
    facts,
  },
  {
    title: 'a later deployment of the same name changes objects of the first, and fails for an invalid one',
    controllers: CONTROLLERS,
    given: [until(deploys(FIRST, [{ ...vault, ...manifest(SecretVault, {}) }]), FIRST, 'Succeeded')],
    steps: [
      until(
        deploys(SECOND, [
          { ...vault, patch: JSON.stringify({ tags: { team: 'search' } }) },
          job(['vault'], { computePlan: 'none' }),
        ]),
        SECOND,
        'Failed',
      ),
    ],
    facts: async (world) => ({
      ...(await facts(world)),
      tags: ((await world.find(SecretVault.resource, 'safe'))?.spec as { tags?: object } | undefined)?.tags,
      hasJob: (await world.find(PlatformJob.resource, 'report', HOME)) !== undefined,
    }),
  },
  {
    title: 'the templates of a repository follow its commits',
    controllers: ['blueprintsource', 'blueprinttemplate'],
    steps: [
      {
        user: 'names a repository',
        async act(world) {
          commit(world, 'a', ['shop', 'site'])
          await world.make(BlueprintSource, FIRST, { repositoryUrl: REPOSITORY }, OUTER)
        },
        until: async (world) => (await readAt(world)) === 'a 2',
      },
      {
        user: 'commits, and asks for it to be read',
        async act(world) {
          commit(world, 'b', ['site', 'job', 'store'])
          const requests = { syncAt: new Date(world.clock.now()).toISOString() }
          await world.server.mergePatch(
            BlueprintSource.resource,
            { namespace: OUTER, name: FIRST },
            { spec: { requests } },
          )
        },
        until: async (world) => (await readAt(world)) === 'b 3',
      },
    ],
    facts: (world) => ({
      slugs: [...world.server.stored(BlueprintTemplate.resource)]
        .filter(({ spec }) => (spec as { sourceId?: string }).sourceId === FIRST)
        .map(({ spec }) => (spec as { slug: string }).slug)
        .sort(),
    }),
  },
  {
    title: 'a template is validated, and again when its content changes',
    controllers: ['blueprinttemplate'],
    steps: [
      {
        user: 'keeps a template that is not valid',
        act: (world) => world.make(BlueprintTemplate, 'shop', { slug: 'shop', content: 'format: 2' }, OUTER),
        until: async (world) =>
          phaseOf(await world.find(BlueprintTemplate.resource, 'shop', OUTER)) === 'ConfigurationInvalid',
      },
      {
        user: 'corrects it',
        act: (world) =>
          world.server.mergePatch(
            BlueprintTemplate.resource,
            { namespace: OUTER, name: 'shop' },
            { spec: { content: DEFAULT_BLUEPRINTS[0]?.replace('vector-database', 'shop') } },
          ),
        until: (world) => world.isReady(BlueprintTemplate, 'shop', OUTER),
      },
    ],
    facts: () => ({}),
  },
]

const REPOSITORY = 'https://git.example.com/acme/shop.git'

function commit(world: World, revision: string, slugs: readonly string[]): void {
  const template = (slug: string) => DEFAULT_BLUEPRINTS[0]?.replace('vector-database', slug) ?? ''
  const files = Object.fromEntries(slugs.map((slug) => [`${slug}.yaml`, template(slug)]))
  world.engines.gitFiles.commit(REPOSITORY, 'main', revision, { ...files, 'broken.yaml': 'format: 2' })
}

async function readAt(world: World): Promise<string | undefined> {
  const { status } = (await world.find(BlueprintSource.resource, FIRST, OUTER)) as unknown as BlueprintSource
  return status?.state === 'Ready' ? `${status.revision} ${status.templateCount}` : undefined
}

function phaseOf(found: { [key: string]: unknown } | undefined): string | undefined {
  return (found?.status as { phase?: string } | undefined)?.phase
}
