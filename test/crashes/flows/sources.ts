import { sourceSecretName } from '../../../src/contracts/sources/providers.ts'
import type { KubeObject } from '../../../src/core/object.ts'
import { PlatformApp } from '../../../src/crds/apps.ts'
import { DeploymentRecord } from '../../../src/crds/deployments.ts'
import { DeploymentSource } from '../../../src/crds/sources.ts'
import { secret } from '../../../src/kube/builtin.ts'
import type { Flow, Step } from '../flow.ts'
import { OUTER } from '../seeds.ts'
import type { World } from '../world.ts'

const ID = '5d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b11'
const HOST = 'https://git.platform.test'

const make: Step = {
  user: 'makes a source at the Git host of the platform',
  act: (world) =>
    world.make(DeploymentSource, ID, { provider: 'Circuit', displayName: 'Own', baseUrl: HOST, circuit: {} }, OUTER),
  until: (world) => world.isReady(DeploymentSource, ID, OUTER),
}

async function facts(world: World) {
  const kept = (await world.find(secret, sourceSecretName(ID), OUTER)) as { data?: object } | undefined
  return { accounts: world.engines.circuit.accounts.size, entries: Object.keys(kept?.data ?? {}).sort() }
}

const SSH = 'ssh://git@git.test/shop.git'

async function deployments(world: World) {
  const records = (await world.server.list<KubeObject & DeploymentRecord>(DeploymentRecord.resource)).items
  const told = records.map(({ spec, status }) => `${status?.number} ${status?.stage} ${spec.commitSha}`)
  return { told: told.sort(), served: told.filter((line) => line.includes('Succeeded')).length }
}

/** What users do with deployment sources. */
export const sourceFlows: readonly Flow[] = [
  {
    title: 'a source at the Git host of the platform gets an account and a token',
    controllers: ['deploymentsource'],
    facts,
    steps: [make],
  },
  {
    title: 'a push deploys the app that follows its branch',
    controllers: ['deploymentsource', 'platformapp', 'deploymentrecord'],
    facts: deployments,
    given: [
      {
        user: 'makes a source of plain Git, and an app of it',
        act: async (world) => {
          await world.makeSecret('shop-key', { 'private-key': 'good-token' }, OUTER)
          const source = { provider: 'Git', displayName: 'Shop', baseUrl: SSH, credentials: { secretName: 'shop-key' } }
          await world.make(DeploymentSource, ID, source, OUTER)
          await world.make(PlatformApp, 'shop', {
            sourceKind: 'Repository',
            repositoryUrl: SSH,
            deploymentSourceId: ID,
          })
        },
        until: (world) => world.isReady(PlatformApp, 'shop'),
      },
    ],
    steps: [
      {
        user: 'pushes to the branch',
        act: async (world) => {
          const kind = 'Push'
          const head = {
            kind,
            repositoryId: '1',
            repositoryName: 'shop',
            ref: 'refs/heads/main',
            commit: 'c'.repeat(40),
          }
          const heads = [{ ...head, deliveryId: 'one', receivedAt: '2027-01-01T00:00:00Z' }]
          const options = { subresource: 'status' } as const
          await world.server.mergePatch(
            DeploymentSource.resource,
            { namespace: OUTER, name: ID },
            { status: { heads } },
            options,
          )
        },
        until: async (world) => (await deployments(world)).served === 2,
      },
    ],
  },
  {
    title: 'a source at the Git host of the platform is deleted with its account',
    controllers: ['deploymentsource'],
    facts,
    given: [make],
    steps: [
      {
        user: 'deletes the source',
        act: (world) => world.remove(DeploymentSource, ID, OUTER),
        until: (world) => world.isGone(DeploymentSource, ID, OUTER),
      },
    ],
  },
]
