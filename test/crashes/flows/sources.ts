import { sourceSecretName } from '../../../src/contracts/sources/providers.ts'
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

/** What users do with deployment sources. */
export const sourceFlows: readonly Flow[] = [
  {
    title: 'a source at the Git host of the platform gets an account and a token',
    controllers: ['deploymentsource'],
    facts,
    steps: [make],
  },
  {
    title: 'a source at the Git host of the platform goes with its account',
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
