import { functionNames, functionObjectName } from '../../../src/contracts/functions.ts'
import { Boundary } from '../../../src/crds/boundaries.ts'
import { FunctionNamespace, ServerlessFunction } from '../../../src/crds/functions.ts'
import { ManagedIdentity } from '../../../src/crds/managedidentities.ts'
import { NameClaim } from '../../../src/crds/nameclaims.ts'
import { BoundaryProjection } from '../../../src/crds/projections.ts'
import { deployment, secret } from '../../../src/kube/builtin.ts'
import { mountedCredentials } from '../credentials.ts'
import { FAR_CONTROLLERS, joinFar } from '../far.ts'
import type { Flow, Step } from '../flow.ts'
import { FAR } from '../operator.ts'
import { BOUNDARY_ID, HOME as HOME_OF_GROUP, OUTER } from '../seeds.ts'
import type { World } from '../world.ts'

const HOME = 'shop'
const NAME = functionObjectName(HOME, 'orders')
const hash = 'a'.repeat(64)

const makeNamespace: Step = {
  user: 'makes a function namespace',
  act: (world) => world.make(FunctionNamespace, HOME, { runtime: 'nodejs', customDomains: ['shop.example.com'] }),
  until: (world) => world.isReady(FunctionNamespace, HOME),
}
const makeFunction: Step = {
  user: 'makes a function',
  act: (world) =>
    world.make(ServerlessFunction, NAME, {
      namespaceName: HOME,
      functionName: 'orders',
      handler: 'index',
      image: 'orders:1',
      namespaceSecrets: ['managedidentities'],
    }),
  until: (world) => world.isReady(ServerlessFunction, NAME),
}

/** Which paths and hosts are held. */
async function facts(world: World): Promise<object> {
  const claims = (await world.server.list(NameClaim.resource)).items as unknown as NameClaim[]
  return { claims: claims.map(({ spec }) => `${spec.type} ${spec.value}`).sort() }
}

const ID = '0b0e3f4e-3f4e-4f4e-8f4e-0b0e3f4e0b0e'
const source = {
  ...{ hash, sizeBytes: 1, fileCount: 1, parts: 1, deploymentId: ID },
  ...{ uploadedAt: '2026-01-01T00:00:00Z', uploadedBy: 'somebody' },
}

const isMounted = async (world: World) => {
  const [identity] = (await world.server.list(ManagedIdentity.resource)).items
  return (identity?.status as { mounted?: boolean } | undefined)?.mounted === true
}
const wantIdentity = (managedIdentity: boolean): Step => ({
  user: managedIdentity ? 'asks for an identity' : 'asks for none',
  act: (world) => world.change(FunctionNamespace, HOME, { managedIdentity }),
  until: async (world) =>
    (await isMounted(world)) === managedIdentity &&
    (await world.isReady(FunctionNamespace, HOME)) &&
    world.isReady(ServerlessFunction, NAME),
})
const deleteNamespace: Step = {
  user: 'deletes the namespace',
  act: (world) => world.remove(FunctionNamespace, HOME),
  until: (world) => world.isGone(FunctionNamespace, HOME),
}

const project: Step = {
  user: 'projects the boundary on another cluster',
  act: joinFar,
  until: (world) => world.isReady(BoundaryProjection, FAR, OUTER),
}
const makeNamespaceThere: Step = {
  user: 'makes a function namespace there, with an identity',
  act: (world) => world.make(FunctionNamespace, HOME, { runtime: 'nodejs', clusterId: FAR, managedIdentity: true }),
  until: (world) => world.isReady(FunctionNamespace, HOME),
}

const limitBoundary: Step = {
  user: 'limits the pods of the boundary',
  act: (world) => world.change(Boundary, BOUNDARY_ID, { quota: { pods: 5 } }),
}
const changeTo = (what: string, spec: object, phase: string): Step => ({
  user: what,
  act: (world) => world.change(ServerlessFunction, NAME, spec),
  until: async (world) => {
    const found = await world.find(ServerlessFunction.resource, NAME)
    return (found?.status as { phase?: string } | undefined)?.phase === phase
  },
})
const callMany: Step = {
  user: 'calls it often',
  act: (world) => {
    const status = { desiredReplicas: 20 }
    const ref = { namespace: HOME_OF_GROUP, name: NAME }
    return world.server.mergePatch(ServerlessFunction.resource, ref, { status }, { subresource: 'status' })
  },
  until: async (world) => {
    const found = await world.find(deployment, functionNames(NAME).workload)
    return (found?.spec as { replicas?: number } | undefined)?.replicas === 5
  },
}

/** What is in the other cluster of functions. */
async function factsThere(world: World): Promise<object> {
  const names = async (resource: typeof deployment) =>
    (await world.far.list(resource)).items.map(({ metadata }) => metadata.name).sort()
  return { ...(await facts(world)), deployments: await names(deployment), secrets: await names(secret) }
}

const common = { controllers: ['functionnamespace', 'serverlessfunction'], facts }

export const functionFlows: readonly Flow[] = [
  {
    ...common,
    controllers: [...common.controllers, 'deploymentrecord'],
    title: 'an uploaded function is built and served',
    given: [makeNamespace],
    steps: [
      {
        user: 'makes a function with files',
        act: (world) =>
          world.make(ServerlessFunction, NAME, {
            ...{ namespaceName: HOME, functionName: 'orders', handler: 'index', minReplicas: 1, source },
          }),
        until: async (world) => {
          const found = await world.find(ServerlessFunction.resource, NAME)
          const { servingDeployment } = (found?.status ?? {}) as { servingDeployment?: string }
          return servingDeployment === ID && world.isReady(ServerlessFunction, NAME)
        },
      },
    ],
  },
  { ...common, title: 'a function is created in a namespace', steps: [makeNamespace, makeFunction] },
  {
    ...common,
    title: 'a function gets another path and source, wakes, and is deleted with its namespace',
    given: [makeNamespace, makeFunction],
    steps: [
      {
        user: 'gives it another path and a source',
        act: (world) =>
          world.change(ServerlessFunction, NAME, {
            triggers: [{ name: 'web', kind: 'Http', path: '/other' }],
            minReplicas: 1,
            source,
          }),
        until: (world) => world.isReady(ServerlessFunction, NAME),
      },
      deleteNamespace,
    ],
  },
  {
    ...common,
    title: 'a function under a quota is refused more, wakes within it, asks for less, and is deleted',
    given: [makeNamespace],
    steps: [
      limitBoundary,
      makeFunction,
      changeTo('asks for more than fits', { maxReplicas: 20 }, 'QuotaExceeded'),
      callMany,
      changeTo('asks for less', { maxReplicas: 2 }, 'Available'),
      deleteNamespace,
    ],
  },
  {
    ...common,
    controllers: [...common.controllers, 'managedidentity'],
    title: 'a function namespace gets and loses an identity, and is deleted',
    facts: async (world) => ({ ...(await facts(world)), ...(await mountedCredentials(world)) }),
    given: [makeNamespace, makeFunction],
    steps: [wantIdentity(true), wantIdentity(false), deleteNamespace],
  },
  {
    ...common,
    controllers: [...common.controllers, ...FAR_CONTROLLERS, 'managedidentity'],
    title: 'a function runs in another cluster with the identity of its namespace, and is deleted with it',
    facts: factsThere,
    given: [project],
    steps: [makeNamespaceThere, makeFunction, deleteNamespace],
  },
]
