import { expect } from 'chai'
import { BOUNDARY as B, OWNER, startShop } from '../../../test/worlds/shop.ts'
import type { VaultReference } from '../../contracts/references.ts'
import { newHistory } from '../../contracts/vaults/history.ts'
import { entryName } from '../../contracts/vaults/names.ts'
import { type PlatformError, permissionMissing } from '../../core/errors.ts'
import { groupNamespace } from '../../core/names.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { SecretVault, VaultEntry } from '../../crds/vaults.ts'
import type { Context, Services } from '../http/context.ts'
import { refuseMissingReferences, withUncachedReferences } from './references.ts'

const READER = '33333333-3333-4333-8333-333333333333'
const BASE = `/boundaries/${B}/resourcegroups/shop/resources`
const SHOP = groupNamespace(B, 'shop')
const SIZES = { cpuRequest: '1', cpuLimit: '2', memoryRequest: '2Gi', memoryLimit: '2Gi' }
const image = 'docker.io/library/nginx:1.29'
const secret = (vaultName: string, secretName: string, version?: number) => ({ vaultName, secretName, version })
type Variable = { name: string; secret?: object; output?: object }

/** Bodies of each kind with variables. */
const BODIES: readonly [path: string, bodyOf: (env: Variable[]) => object][] = [
  ['apps/shop', (env) => ({ sourceKind: 'Image', image, env })],
  ['containerinstances/shop', (env) => ({ components: [{ name: 'web', image, env }] })],
  ['functionnamespaces/shop', (env) => ({ runtime: 'nodejs', env })],
  ['functionnamespaces/home/functions/hello', (env) => ({ handler: 'index', env })],
]

describe('references of a resource', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    server = await startShop()
    server.grant(READER, 'Reader', `/boundaries/${B}`)
    for (const family of ['App', 'ContainerInstance', 'Function'])
      server.put(ComputePlan, `own-${family.toLowerCase()}`, { family, displayName: family, ...SIZES, isDefault: true })
    server.put(SecretVault, 'safe', {}, SHOP)
    const versions = [{ version: 1, createdAt: '2026-01-01T00:00:00Z' }]
    const history = { ...newHistory(SecretVault.spec.parse({})), versions }
    const entry = { vaultName: 'safe', secretName: 'key', state: 'Active', history }
    server.put(VaultEntry, entryName('safe', 'key'), entry, SHOP)
    await ask('post', 'functionnamespaces/home', { runtime: 'nodejs' })
  })
  afterEach(() => server.stop())

  const ask = (method: 'post' | 'patch', path: string, body: object, caller = OWNER) =>
    server.ask(method, `${BASE}/${path}`, caller).send(body)

  for (const [path, bodyOf] of BODIES) {
    it(`must exist when ${path} is created`, async () => {
      const output = { collection: 'apps', name: 'nobody', output: 'publicUrl' }
      for (const variable of [
        { secret: secret('nowhere', 'key') },
        { secret: secret('safe', 'nothing') },
        { secret: secret('safe', 'key', 7) },
        { output },
      ]) {
        const { status, body } = await ask('post', path, bodyOf([{ name: 'KEY', ...variable }]))
        expect([status, body.code], JSON.stringify(body)).to.deep.equal([422, 'REFERENCE_NOT_FOUND'])
        expect(body.field).to.match(/env$/)
      }
      for (const other of [{ value: 'x' }, { secret: secret('nowhere', 'key') }]) {
        const { status, body } = await ask('post', path, bodyOf([{ name: 'KEY', output, ...other }]))
        expect([status, body.code], JSON.stringify(body)).to.deep.equal([400, 'BAD_REQUEST'])
      }
      const made = await ask('post', path, bodyOf([{ name: 'KEY', secret: secret('safe', 'key', 1) }]))
      expect(made.status, JSON.stringify(made.body)).to.equal(201)
    })
  }

  it('return 403 to a caller who may not read them', async () => {
    const body = { sourceKind: 'Image', image, env: [{ name: 'KEY', secret: secret('nowhere', 'key') }] }
    expect((await ask('post', 'apps/shop', body, READER)).status).to.equal(403)
  })

  it('may be missing when another field changes', async () => {
    const env = [{ name: 'KEY', secret: secret('safe', 'key') }]
    await ask('post', 'apps/shop', { sourceKind: 'Image', image, env })
    server.put(VaultEntry, entryName('safe', 'key'), { vaultName: 'safe', secretName: 'key', state: 'Purged' }, SHOP)
    const more = [...env, { name: 'MODE', value: 'fast' }]
    const changed = await ask('patch', 'apps/shop', { env: more })
    expect(changed.status, JSON.stringify(changed.body)).to.equal(200)
  })
})

describe('withUncachedReferences', () => {
  const object = (name: string, spec: object) => ({ apiVersion: 'v1', kind: 'Any', metadata: { name }, spec })
  const versions = [{ version: 1, createdAt: '2026-01-01T00:00:00Z' }]
  const history = { ...newHistory(SecretVault.spec.parse({})), versions }
  const stored = [
    object('safe', {}),
    object(entryName('safe', 'key'), { vaultName: 'safe', secretName: 'key', state: 'Active', history }),
  ]
  /** Resolves the references with empty caches. @returns the names read from the API server */
  async function refer(...secrets: object[]): Promise<string[]> {
    const readNames: string[] = []
    const records = {
      peek: () => undefined,
      async get(_: unknown, { name }: { name: string }) {
        readNames.push(name)
        return stored.find(({ metadata }) => metadata.name === name)
      },
    }
    const services = { records } as unknown as Services
    await withUncachedReferences({ services } as never, (unseen) =>
      refuseMissingReferences({ env: secrets.map((one) => ({ secret: one as VaultReference })) }, [], {
        ...{ services, unseen, boundaryId: B, resourceGroup: 'shop' },
      }),
    )
    return readNames
  }

  it('catches up with grants before it throws FORBIDDEN', async () => {
    const catchUps: unknown[] = []
    const services = { access: { catchUp: async (...given: unknown[]) => void catchUps.push(given) } }
    const context = { services, caller: { principalId: 'anna' } } as unknown as Context
    const asking = withUncachedReferences(context, () => {
      if (catchUps.length === 0) throw permissionMissing('secretvault/readSecrets', '/boundaries/b')
      return 'made'
    })
    expect(await asking).to.equal('made')
    const refused = withUncachedReferences(context, () => {
      throw permissionMissing('secretvault/readSecrets', '/boundaries/b')
    })
    expect(await refused.catch((error: PlatformError) => error.code)).to.equal('FORBIDDEN')
    expect(catchUps).to.deep.equal([
      ['anna', '/boundaries/b'],
      ['anna', '/boundaries/b'],
    ])
  })

  it('reads each missing reference from the API server once', async () => {
    expect(await refer(secret('safe', 'key'), secret('safe', 'key', 1))).to.deep.equal([
      'safe',
      entryName('safe', 'key'),
    ])
  })

  it('throws REFERENCE_NOT_FOUND if the API server does not have it', async () => {
    for (const missing of [secret('nowhere', 'key'), secret('safe', 'nothing'), secret('safe', 'key', 2)]) {
      const refused = await refer(missing).catch((error: PlatformError) => error)
      expect((refused as PlatformError).code).to.equal('REFERENCE_NOT_FOUND')
    }
  })
})
