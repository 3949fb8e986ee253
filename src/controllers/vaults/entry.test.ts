import { expect } from 'chai'
import { ControllerBench } from '../../../test/worlds/controllers.ts'
import { answerRemovals } from '../../../test/worlds/secretRemovals.ts'
import { FakePlatformKeys } from '../../adapters/platformkeys/fake.ts'
import { newHistory } from '../../contracts/vaults/history.ts'
import { entryName, valueNames } from '../../contracts/vaults/names.ts'
import { buildJweSecret } from '../../contracts/vaults/valueSecret.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { claimName } from '../../core/nameClaims.ts'
import type { KubeObject } from '../../core/object.ts'
import { NameClaim } from '../../crds/nameclaims.ts'
import { SecretVault, VaultEntry } from '../../crds/vaults.ts'
import { namespace, secret } from '../../kube/builtin.ts'
import { VAULT_CONTROLLERS } from './index.ts'

const ENTRY = entryName('safe', 'Password')
const HOUR = 3_600_000

describe('VaultEntry controller', () => {
  let bench: ControllerBench
  let space: string

  const entry = () => bench.find<VaultEntry & KubeObject>(VaultEntry.resource, ENTRY, space)
  const secrets = async () =>
    (await bench.client.list(secret, { namespace: space })).items.map(({ metadata }) => metadata.name).sort()
  const seedVault = (spec: object = {}) =>
    bench.seed(SecretVault, 'safe', SecretVault.spec.parse(spec), { namespace: space })
  const seedEntry = (spec: object = {}) => {
    const own = { vaultName: 'safe', secretName: 'Password', ...spec }
    return bench.seed(VaultEntry, ENTRY, VaultEntry.spec.parse(own), { namespace: space })
  }
  const seedSource = () =>
    bench.client.seed(secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'Opaque',
      metadata: { name: 'incoming', namespace: space },
      data: { value: Buffer.from('hunter2').toString('base64') },
    } as KubeObject)
  const fed = { valueFrom: { secretName: 'incoming', key: 'value' } }
  const change = async (spec: object) => {
    await bench.client.mergePatch(VaultEntry.resource, { namespace: space, name: ENTRY }, { spec })
    await bench.rest()
  }
  const pass = async (milliseconds: number) => {
    bench.clock.freeze(Math.max(0, milliseconds - 60_000))
    await bench.clock.advance(Math.min(milliseconds, 60_000))
    await bench.rest()
  }
  const rules = { softDeleteEnabled: true, softDeleteRetentionDays: 7, enablePurgeProtection: false }

  beforeEach(() => {
    bench = new ControllerBench(VAULT_CONTROLLERS.map((each) => each(new FakePlatformKeys('first'))))
    space = bench.seedGroup('shop').groupSpace
    answerRemovals(bench.client, space)
  })
  afterEach(() => bench.stop())

  it('copies a later soft delete setting of its vault', async () => {
    seedVault({ softDeleteEnabled: false })
    seedSource()
    seedEntry(fed)
    await bench.start()
    expect((await entry())?.spec.history?.softDelete).to.equal(false)
    const patch = { spec: { softDeleteEnabled: true } }
    await bench.client.mergePatch(SecretVault.resource, { namespace: space, name: 'safe' }, patch)
    await bench.rest()
    expect((await entry())?.spec.history?.softDelete).to.equal(true)
  })

  it('deletes an entry of REST that got no value within an hour, with its value Secret', async () => {
    seedVault()
    const made = seedEntry({ history: newHistory(rules) })
    bench.client.seed(secret, buildJweSecret(made, 1, 'value', valueNames(ENTRY, 1).version(1), 'jwe'))
    await bench.start()
    await pass(HOUR - 61_000)
    expect(await entry()).not.to.equal(undefined)
    await pass(120_000)
    expect(await entry()).to.equal(undefined)
    expect(await secrets()).to.deep.equal([])
  })

  for (const [sentence, spec] of [
    ['waits for its source Secret', { history: newHistory(rules), ...fed }],
    ['was created with kubectl', {}],
  ] as const)
    it(`keeps an entry without a value that ${sentence}`, async () => {
      seedVault()
      seedEntry(spec)
      await bench.start()
      await pass(100 * HOUR)
      expect(await entry()).not.to.equal(undefined)
    })

  it('keeps a value under purge protection for its retention after the deletion of its vault', async () => {
    seedVault({ enablePurgeProtection: true, softDeleteRetentionDays: 7 })
    seedSource()
    seedEntry(fed)
    await bench.start()
    const vault = () => bench.find<SecretVault & KubeObject>(SecretVault.resource, 'safe', space)
    await bench.client.remove(SecretVault.resource, { namespace: space, name: 'safe' })
    await bench.rest()
    expect((await vault())?.status).to.include({ phase: 'DeletionBlocked' })
    expect(await secrets()).to.include(valueNames(ENTRY, 1).version(1))
    await change({ state: 'Deleted' })
    await pass(6 * 24 * HOUR)
    expect(await secrets()).to.include(valueNames(ENTRY, 1).version(1))
    await pass(2 * 24 * HOUR)
    expect([await entry(), await vault(), await secrets()]).to.deep.equal([undefined, undefined, ['incoming']])
  })

  it('deletes a value under purge protection with the namespace of its group', async () => {
    seedVault({ enablePurgeProtection: true })
    seedSource()
    seedEntry(fed)
    await bench.start()
    bench.client.edit(namespace, { name: space }, ({ metadata }) => {
      metadata.deletionTimestamp = new Date(bench.clock.now()).toISOString()
    })
    await bench.client.remove(SecretVault.resource, { namespace: space, name: 'safe' })
    await bench.rest()
    expect(await bench.find(SecretVault.resource, 'safe', space)).to.equal(undefined)
  })

  it('takes no new value while its vault is being deleted', async () => {
    seedVault({ enablePurgeProtection: true })
    seedSource()
    seedEntry(fed)
    await bench.start()
    await bench.client.remove(SecretVault.resource, { namespace: space, name: 'safe' })
    await bench.rest()
    await bench.client.mergePatch(
      secret,
      { namespace: space, name: 'incoming' },
      { data: { value: Buffer.from('later').toString('base64') } },
    )
    await bench.rest()
    expect((await entry())?.spec.history?.lastVersion).to.equal(1)
  })

  for (const [what, expires, end] of [
    ['is disabled', {}, () => change({ enabled: false })],
    ['expires', { expiresOn: '2026-01-01T01:00:00Z' }, () => pass(HOUR)],
  ] as const)
    it(`removes the mounted Secret of a value that ${what}, although another vault has taken the name`, async () => {
      seedVault()
      seedSource()
      seedEntry({ ...fed, ...expires, mountAs: { secretName: 'mounted', key: 'password' } })
      await bench.start()
      expect(await secrets()).to.include('mounted')
      const holder = { kind: 'SecretVault', namespace: 'another-0123456789', name: 'safe', incarnation: 'of-another' }
      bench.client.edit(NameClaim.resource, { name: claimName('Vault', 'safe') }, (claim) => {
        claim.spec = { type: 'Vault', value: 'safe', holder }
      })
      bench.seed(SecretVault, 'safe', SecretVault.spec.parse({}), {
        namespace: holder.namespace,
        annotations: { [INCARNATION_ANNOTATION]: holder.incarnation },
      })
      await bench.rest()
      expect((await entry())?.status?.phase).to.equal('NameOccupied')
      await end()
      expect(await secrets()).not.to.include('mounted')
      expect((await entry())?.status)
        .to.include({ phase: 'NameOccupied' })
        .and.not.have.property('mountedSecret')
    })
})
