import { expect } from 'chai'
import { HOME, seedGroup } from '../../../test/crashes/seeds.ts'
import { World } from '../../../test/crashes/world.ts'
import { functionNames, functionObjectName, permanentFailureOf } from '../../contracts/functions.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import { FunctionNamespace, ServerlessFunction } from '../../crds/functions.ts'
import { deployment } from '../../kube/builtin.ts'

const NAME = functionObjectName('shop', 'orders')
const code = { namespaceName: 'shop', functionName: 'orders', handler: 'index', image: 'orders:1', minReplicas: 1 }
const ASKED = { ...code, namespaceSecrets: ['managedidentities'] }
const SECRET = { runtime: 'nodejs', managedIdentity: true }
const PLAIN = { runtime: 'nodejs' }

type Step = (world: World) => Promise<unknown>
const make =
  (spec: object): Step =>
  (world) =>
    world.make(ServerlessFunction, NAME, spec)
const change =
  (spec: object): Step =>
  (world) =>
    world.change(ServerlessFunction, NAME, spec)
const around =
  (spec: object): Step =>
  (world) =>
    world.make(FunctionNamespace, 'shop', spec)
const turnOn: Step = (world) => world.change(FunctionNamespace, 'shop', { managedIdentity: true })
const later: Step = (world) => world.pass(5_000)
const settled: Step = (world) => world.rest()
const reported =
  (namespaceSecrets?: readonly string[]): Step =>
  (world) =>
    world.make(DeploymentRecord, '0b0e3f4e-3f4e-4f4e-8f4e-0b0e3f4e0b01', {
      ...{ ownerCollection: 'functions', ownerName: NAME, source: 'functions/orders' },
      ...{ strategy: 'Reported', phase: 'Succeeded', image: 'orders:2', namespaceSecrets },
    })
const { image: _, ...WITHOUT_IMAGE } = ASKED
const removed: Step = async (world) => {
  await world.remove(ServerlessFunction, NAME)
  await world.until('it is gone', () => world.isGone(ServerlessFunction, NAME))
}

/** The controller cannot know what an admission policy saw of the other object: its cache may have been behind. */
const ORDERS: [sentence: string, isGiven: boolean, ...steps: Step[]][] = [
  ['was created without namespaceSecrets before the namespace', false, make(code), later, around(SECRET)],
  ['was created without namespaceSecrets just before the namespace', false, make(code), around(SECRET)],
  ['was created without namespaceSecrets just after the namespace', false, around(SECRET), make(code)],
  ['was created without namespaceSecrets later than the namespace', false, around(SECRET), later, make(code)],
  ['had no namespaceSecrets when the identity was turned on', false, around(PLAIN), make(code), settled, later, turnOn],
  ['was created without namespaceSecrets while the identity was turned on', false, around(PLAIN), turnOn, make(code)],
  [
    'lost its namespaceSecrets while the identity was turned on',
    false,
    ...[around(PLAIN), make(ASKED), settled],
    turnOn,
    change({ handler: 'other', namespaceSecrets: [] }),
  ],
  [
    'names only another collection in namespaceSecrets',
    false,
    around(SECRET),
    make({ ...code, namespaceSecrets: ['secretvaults'] }),
  ],
  ['serves an image reported without namespaceSecrets', false, around(SECRET), make(WITHOUT_IMAGE), reported()],
  ['serves an image reported with empty namespaceSecrets', false, around(SECRET), make(WITHOUT_IMAGE), reported([])],
  [
    'serves an image reported with namespaceSecrets',
    true,
    around(SECRET),
    make(WITHOUT_IMAGE),
    reported(['managedidentities']),
  ],
  ['was created with namespaceSecrets before the namespace', true, make(ASKED), later, around(SECRET)],
  ['was created with namespaceSecrets just after the namespace', true, around(SECRET), make(ASKED)],
  ['had namespaceSecrets when the identity was turned on', true, around(PLAIN), make(ASKED), settled, turnOn],
  ['was recreated with namespaceSecrets', true, make(code), later, around(SECRET), settled, removed, make(ASKED)],
]

async function leadFunctions(): Promise<World> {
  const kinds = ['functionnamespace', 'serverlessfunction', 'managedidentity', 'deploymentrecord']
  const world = new World((all) => all.filter(({ name }) => kinds.includes(name)))
  seedGroup(world.server)
  await world.lead()
  return world
}

describe('identity of a FunctionNamespace, for a function that', () => {
  let world: World
  beforeEach(async () => {
    world = await leadFunctions()
  })
  afterEach(() => world.stop())

  for (const [sentence, isGiven, ...steps] of ORDERS)
    it(`${sentence}: ${isGiven ? 'is mounted' : 'is withheld'}`, async () => {
      for (const step of steps) await step(world)
      await world.rest()
      const copies = JSON.stringify((await world.server.list(deployment)).items)
      expect(copies.includes('freehold--identity')).to.equal(isGiven)
      const { phase } = ((await world.find(ServerlessFunction.resource, NAME))?.status ?? {}) as { phase?: string }
      if (isGiven) expect(phase).to.equal('Available')
      else expect(phase).to.equal('ConfigurationInvalid')
    })
})

const KEY = [{ name: 'KEY', secret: { vaultName: 'keys', secretName: 'Key' } }]
const LED = [{ name: 'NODE_OPTIONS', value: '--import=data:text/javascript,console.log(process.env.KEY)' }]
const SECRETIVE = { ...code, env: KEY }
const set =
  (spec: object): Step =>
  (world) =>
    world.change(FunctionNamespace, 'shop', spec)

/** With variables that make a runtime load other code, it is unknown what happens to the secrets of a function. */
const BESIDE: [sentence: string, isGiven: boolean, ...steps: Step[]][] = [
  ['has no variables', true, around(PLAIN), make(SECRETIVE)],
  ['sets NODE_OPTIONS without functionSecrets', false, around({ ...PLAIN, env: LED }), make(SECRETIVE)],
  [
    'sets NODE_OPTIONS later without functionSecrets',
    false,
    around(PLAIN),
    make(SECRETIVE),
    settled,
    set({ env: LED }),
  ],
  [
    'sets NODE_OPTIONS at the same time without functionSecrets',
    false,
    around(PLAIN),
    make(SECRETIVE),
    set({ env: LED }),
  ],
  [
    'sets NODE_OPTIONS with functionSecrets for another vault',
    false,
    around({ ...PLAIN, env: LED, functionSecrets: ['secretvaults/others'] }),
    make(SECRETIVE),
  ],
  [
    'sets NODE_OPTIONS with functionSecrets for the vault',
    true,
    around({ ...PLAIN, env: LED, functionSecrets: ['secretvaults/keys'] }),
    make(SECRETIVE),
  ],
  [
    'sets NODE_OPTIONS with functionSecrets for all vaults',
    true,
    around({ ...PLAIN, env: LED, functionSecrets: ['secretvaults'] }),
    make(SECRETIVE),
  ],
  [
    'removes NODE_OPTIONS without functionSecrets',
    true,
    ...[around({ ...PLAIN, env: LED }), make(SECRETIVE), settled],
    set({ env: [] }),
  ],
]

describe('secrets of a function, with a FunctionNamespace that', () => {
  let world: World
  beforeEach(async () => {
    world = new World((all) => all.filter(({ name }) => ['functionnamespace', 'serverlessfunction'].includes(name)))
    seedGroup(world.server)
    await world.lead()
  })
  afterEach(() => world.stop())

  for (const [sentence, isGiven, ...steps] of BESIDE)
    it(`${sentence}: ${isGiven ? 'are read' : 'are withheld'}`, async () => {
      for (const step of steps) await step(world)
      await world.rest()
      const { phase } = ((await world.find(ServerlessFunction.resource, NAME))?.status ?? {}) as { phase?: string }
      // The vault does not exist, so a function that may read it reports ReferenceMissing.
      expect(phase).to.equal(isGiven ? 'ReferenceMissing' : 'ConfigurationInvalid')
    })
})

const sleeps = { ...code, minReplicas: 0 }
const sleepsAlone = (({ image: _, ...rest }) => rest)(sleeps)

/** The version before is nobody's new code: it runs with what it was given. */
const REFUSED: [sentence: string, phase: string, ...steps: Step[]][] = [
  [
    'may not receive the identity of its namespace',
    'ConfigurationInvalid',
    around(PLAIN),
    make(sleeps),
    settled,
    turnOn,
  ],
  [
    'may not run beside the variables of its namespace',
    'ConfigurationInvalid',
    ...[around({ ...PLAIN, env: LED }), make(sleeps), settled],
    change({ env: KEY }),
  ],
  [
    'got an image whose reporter may not read the secrets',
    'ConfigurationInvalid',
    ...[around(SECRET), make({ ...sleepsAlone, namespaceSecrets: ['managedidentities'] })],
    ...[reported(['managedidentities']), settled],
    (world) =>
      world.make(DeploymentRecord, '0b0e3f4e-3f4e-4f4e-8f4e-0b0e3f4e0b02', {
        ...{ ownerCollection: 'functions', ownerName: NAME, source: 'functions/orders' },
        ...{ strategy: 'Reported', phase: 'Succeeded', image: 'orders:3' },
      }),
  ],
]

describe('a sleeping function whose change is refused, because it', () => {
  let world: World
  beforeEach(async () => {
    world = await leadFunctions()
  })
  afterEach(() => world.stop())

  for (const [sentence, phase, ...steps] of REFUSED)
    it(`${sentence}: its version before wakes, scales and sleeps`, async () => {
      for (const step of steps) await step(world)
      await world.rest()
      const image = (await copies(world))?.template.spec.containers[0]?.image
      const found = (await world.find(ServerlessFunction.resource, NAME)) as unknown as ServerlessFunction
      expect(found.status?.phase).to.equal(phase)
      expect(permanentFailureOf(found as never)).to.equal(undefined)
      for (const replicas of [1, 3, 0]) {
        const ref = { namespace: HOME, name: NAME }
        const status = { status: { desiredReplicas: replicas } }
        await world.server.mergePatch(ServerlessFunction.resource, ref, status, { subresource: 'status' })
        await world.rest()
        expect((await copies(world))?.replicas).to.equal(replicas)
      }
      expect((await copies(world))?.template.spec.containers[0]?.image).to.equal(image)
    })
})

type Copies = { replicas: number; template: { spec: { containers: { image: string }[] } } }

async function copies(world: World): Promise<Copies | undefined> {
  return (await world.find(deployment, functionNames(NAME).workload))?.spec as Copies | undefined
}
