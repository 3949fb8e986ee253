import { expect } from 'chai'
import { seedGroup } from '../../../test/crashes/seeds.ts'
import { World } from '../../../test/crashes/world.ts'
import { functionObjectName } from '../../contracts/functions.ts'
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

/** What a policy saw of the other object is never known here: it may have heard of it late, or not yet. */
const ORDERS: [sentence: string, isGiven: boolean, ...steps: Step[]][] = [
  ['came first', false, make(code), later, around(SECRET)],
  ['came in the same second, before it', false, make(code), around(SECRET)],
  ['came in the same second, after it', false, around(SECRET), make(code)],
  ['came after it, before policies had heard of it', false, around(SECRET), later, make(code)],
  ['was there when it was turned on', false, around(PLAIN), make(code), settled, later, turnOn],
  ['came as it was turned on', false, around(PLAIN), turnOn, make(code)],
  [
    'was changed as it was turned on, by somebody not asked',
    false,
    ...[around(PLAIN), make(ASKED), settled],
    turnOn,
    change({ handler: 'other', namespaceSecrets: [] }),
  ],
  ['says that of another secret only', false, around(SECRET), make({ ...code, namespaceSecrets: ['secretvaults'] })],
  ['serves an image that somebody reported who was not asked', false, around(SECRET), make(WITHOUT_IMAGE), reported()],
  ['serves one of somebody who may not read it', false, around(SECRET), make(WITHOUT_IMAGE), reported([])],
  ['serves one of somebody who may', true, around(SECRET), make(WITHOUT_IMAGE), reported(['managedidentities'])],
  ['came first, of somebody who may read it', true, make(ASKED), later, around(SECRET)],
  ['came in the same second, of somebody who may read it', true, around(SECRET), make(ASKED)],
  ['was there when it was turned on, of somebody who may read it', true, around(PLAIN), make(ASKED), settled, turnOn],
  [
    'was made again by somebody who may read it',
    true,
    make(code),
    later,
    around(SECRET),
    settled,
    removed,
    make(ASKED),
  ],
]

describe('the identity of a namespace of functions, to a function that', () => {
  let world: World
  beforeEach(async () => {
    const kinds = ['functionnamespace', 'serverlessfunction', 'managedidentity', 'deploymentrecord']
    world = new World((all) => all.filter(({ name }) => kinds.includes(name)))
    seedGroup(world.server)
    await world.lead()
  })
  afterEach(() => world.stop())

  for (const [sentence, isGiven, ...steps] of ORDERS)
    it(`${sentence}: ${isGiven ? 'is given' : 'is not given'}`, async () => {
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

/** Of variables that lead a runtime to other code, nobody knows what they do with what a function is given. */
const BESIDE: [sentence: string, isGiven: boolean, ...steps: Step[]][] = [
  ['has none', true, around(PLAIN), make(SECRETIVE)],
  ['somebody wrote who was not asked', false, around({ ...PLAIN, env: LED }), make(SECRETIVE)],
  ['somebody wrote later who was not asked', false, around(PLAIN), make(SECRETIVE), settled, set({ env: LED })],
  ['somebody wrote in the same moment who was not asked', false, around(PLAIN), make(SECRETIVE), set({ env: LED })],
  [
    'somebody wrote who may read another vault',
    false,
    around({ ...PLAIN, env: LED, functionSecrets: ['secretvaults/others'] }),
    make(SECRETIVE),
  ],
  [
    'somebody wrote who may read it',
    true,
    around({ ...PLAIN, env: LED, functionSecrets: ['secretvaults/keys'] }),
    make(SECRETIVE),
  ],
  [
    'somebody wrote who may read all vaults',
    true,
    around({ ...PLAIN, env: LED, functionSecrets: ['secretvaults'] }),
    make(SECRETIVE),
  ],
  [
    'somebody took away who was not asked',
    true,
    ...[around({ ...PLAIN, env: LED }), make(SECRETIVE), settled],
    set({ env: [] }),
  ],
]

describe('the secrets of a function, beside the variables of a namespace that', () => {
  let world: World
  beforeEach(async () => {
    world = new World((all) => all.filter(({ name }) => ['functionnamespace', 'serverlessfunction'].includes(name)))
    seedGroup(world.server)
    await world.lead()
  })
  afterEach(() => world.stop())

  for (const [sentence, isGiven, ...steps] of BESIDE)
    it(`${sentence}: ${isGiven ? 'are given' : 'are not given'}`, async () => {
      for (const step of steps) await step(world)
      await world.rest()
      const { phase } = ((await world.find(ServerlessFunction.resource, NAME))?.status ?? {}) as { phase?: string }
      // There is no such vault: whoever looks for it would take the secret from there.
      expect(phase).to.equal(isGiven ? 'ReferenceMissing' : 'ConfigurationInvalid')
    })
})
