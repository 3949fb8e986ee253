import { expect } from 'chai'
import { ControllerBench } from '../../../test/worlds/controllers.ts'
import { answerRemovals } from '../../../test/worlds/secretRemovals.ts'
import { FakePlatformKeys } from '../../adapters/platformkeys/fake.ts'
import { openValue, unwrapDataKey, wrappingKeyId } from '../../contracts/vaults/envelope.ts'
import { currentVersion } from '../../contracts/vaults/history.ts'
import { entryName, keyContext, valueContext, valueNames } from '../../contracts/vaults/names.ts'
import { decodeJwe } from '../../contracts/vaults/valueSecret.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { claimName } from '../../core/nameClaims.ts'
import type { KubeObject } from '../../core/object.ts'
import type { SecretObject } from '../../core/secretData.ts'
import { NameClaim } from '../../crds/nameclaims.ts'
import { SecretVault, VaultEntry } from '../../crds/vaults.ts'
import { secret } from '../../kube/builtin.ts'
import { VAULT_CONTROLLERS } from './index.ts'

const DAY = 86_400_000
const ENTRY = entryName('safe', 'Password')

describe('SecretVault and VaultEntry controllers', () => {
  let bench: ControllerBench
  let keys: FakePlatformKeys
  let space: string

  const entry = () => bench.find<VaultEntry & KubeObject>(VaultEntry.resource, ENTRY, space)
  const vault = () => bench.find<SecretVault & KubeObject>(SecretVault.resource, 'safe', space)
  const secrets = async () =>
    (await bench.client.list<SecretObject>(secret, { namespace: space })).items
      .map(({ metadata }) => metadata.name)
      .sort()
  const seedVault = (spec: object = {}) =>
    bench.seed(SecretVault, 'safe', SecretVault.spec.parse({ softDeleteRetentionDays: 7, ...spec }), {
      namespace: space,
    })
  const seedSource = (value: string, metadata: object = {}) =>
    bench.client.seed(secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'Opaque',
      metadata: { name: 'incoming', namespace: space, ...metadata },
      data: { value: Buffer.from(value).toString('base64') },
    } as KubeObject)
  const seedEntry = (spec: object = {}) =>
    bench.seed(
      VaultEntry,
      ENTRY,
      VaultEntry.spec.parse({
        vaultName: 'safe',
        secretName: 'Password',
        valueFrom: { secretName: 'incoming', key: 'value' },
        ...spec,
      }),
      { namespace: space },
    )
  const change = async (spec: object) => {
    await bench.client.mergePatch(VaultEntry.resource, { namespace: space, name: ENTRY }, { spec })
    await bench.rest()
  }
  const pass = async (milliseconds: number) => {
    // Of several days, only the last minute is simulated.
    bench.clock.freeze(Math.max(0, milliseconds - 60_000))
    // Values are opened on other threads, for which the clock does not wait: finish what is due before it moves on. A pass
    // that was left behind sets its next time from the current clock.
    for (const step of [0, Math.min(milliseconds, 60_000), 1]) {
      await bench.clock.advance(step)
      await bench.rest()
    }
  }
  async function valueAt(version: number, life = 1): Promise<string> {
    const names = valueNames(ENTRY, life)
    const read = async (name: string) =>
      decodeJwe((await bench.client.get<SecretObject>(secret, { namespace: space, name })).data) ?? ''
    const dataKey = await unwrapDataKey(await read(names.key), keys, keyContext(space, ENTRY, life))
    return openValue(await read(names.version(version)), dataKey, valueContext(space, ENTRY, life, version))
  }
  const keyIdStored = async () => {
    const { key } = valueNames(ENTRY, 1)
    return wrappingKeyId(
      decodeJwe((await bench.client.get<SecretObject>(secret, { namespace: space, name: key })).data) ?? '',
    )
  }

  beforeEach(() => {
    keys = new FakePlatformKeys('first')
    bench = new ControllerBench(VAULT_CONTROLLERS.map((each) => each(keys)))
    space = bench.seedGroup('shop').groupSpace
    answerRemovals(bench.client, space)
  })
  afterEach(() => bench.stop())

  it('record mountedSecret in the status before they write the mounted Secret', async () => {
    await startWithSecret()
    const apply = bench.client.apply.bind(bench.client)
    const noted: unknown[] = []
    bench.client.apply = (async (...given: Parameters<typeof apply>) => {
      if (given[1].metadata.name.startsWith('mount')) noted.push((await entry())?.status?.mountedSecret)
      return apply(...given)
    }) as typeof apply
    await change({ mountAs: { secretName: 'mounted', key: 'password' } })
    await change({ mountAs: { secretName: 'mounted-elsewhere', key: 'password' } })
    expect(noted).to.deep.equal(['mounted', 'mounted-elsewhere'])
    expect(await secrets())
      .to.include('mounted-elsewhere')
      .and.not.include('mounted')
    expect((await entry())?.status).to.include({ phase: 'Available', mountedSecret: 'mounted-elsewhere' })
  })

  it('claim the name of a vault and release it with the vault', async () => {
    seedVault()
    await bench.start()
    const name = claimName('Vault', 'safe')
    expect((await bench.find(NameClaim.resource, name))?.spec).to.deep.include({ type: 'Vault', value: 'safe' })
    expect((await vault())?.status).to.include({
      phase: 'Available',
      secretCount: 0,
      keyId: 'first',
      pendingRewraps: 0,
    })
    await bench.client.remove(SecretVault.resource, { namespace: space, name: 'safe' })
    await bench.rest()
    expect(await vault()).to.equal(undefined)
    expect(await bench.find(NameClaim.resource, name)).to.equal(undefined)
  })

  it('report NameOccupied for a vault with a taken name and its entries until it is released', async () => {
    const { groupSpace: other } = bench.seedGroup('other')
    bench.seed(SecretVault, 'safe', SecretVault.spec.parse({ softDeleteRetentionDays: 7 }), { namespace: other })
    await bench.start()
    seedSource('hunter2')
    seedEntry()
    seedVault()
    await bench.rest()
    expect((await vault())?.status).to.include({ status: 'Failed', phase: 'NameOccupied' })
    expect((await entry())?.status).to.include({ status: 'Failed', phase: 'NameOccupied' })
    expect((await entry())?.status?.statusMessage).to.match(
      /^Vault "safe" cannot hold secrets: The name "safe" is taken/,
    )
    expect((await entry())?.status?.version).to.equal(undefined)
    await bench.client.remove(SecretVault.resource, { namespace: other, name: 'safe' })
    await bench.rest()
    expect((await vault())?.status).to.include({ phase: 'Available' })
    expect((await entry())?.status).to.include({ phase: 'Available', version: 1 })
  })

  it('report NameOccupied for the entries of a vault that loses its name', async () => {
    seedVault()
    seedSource('hunter2')
    seedEntry()
    await bench.start()
    expect((await entry())?.status).to.include({ phase: 'Available' })
    const name = claimName('Vault', 'safe')
    const holder = { kind: 'SecretVault', namespace: 'another-0123456789', name: 'safe', incarnation: 'of-another' }
    bench.client.edit(NameClaim.resource, { name }, (claim) => {
      claim.spec = { type: 'Vault', value: 'safe', holder }
    })
    bench.seed(SecretVault, 'safe', SecretVault.spec.parse({}), {
      namespace: holder.namespace,
      annotations: { [INCARNATION_ANNOTATION]: holder.incarnation },
    })
    await bench.rest()
    expect((await vault())?.status).to.include({ phase: 'NameOccupied' })
    expect((await entry())?.status).to.include({ phase: 'NameOccupied' })
  })

  it('store the value of a source Secret as a version, keep the Secret, and write nothing at rest', async () => {
    seedVault()
    seedSource('hunter2')
    seedEntry()
    await bench.start()
    const names = valueNames(ENTRY, 1)
    expect(await secrets()).to.deep.equal(['incoming', names.key, names.version(1)].sort())
    expect(await valueAt(1)).to.equal('hunter2')
    const found = await entry()
    expect(found?.spec.valueFrom).to.deep.equal({ secretName: 'incoming', key: 'value' })
    expect(found?.spec.history).to.include({ lastVersion: 1, life: 1 })
    expect(found?.status).to.include({ phase: 'Available', version: 1, keyId: 'first' })
    await pass(10_000)
    expect((await vault())?.status?.secretCount).to.equal(1)
    bench.writes()
    await pass(DAY)
    expect(bench.writes()).to.deep.equal([])
  })

  it('store one version after an interruption before it was listed', async () => {
    seedVault()
    seedSource('hunter2')
    seedEntry()
    bench.client.fail('mergePatch', VaultEntry.resource, 'Unavailable', 2)
    await bench.start()
    await pass(600_000)
    const versions = (await entry())?.spec.history?.versions ?? []
    expect(versions).to.have.length(1)
    expect(await valueAt(versions[0]?.version ?? 0)).to.equal('hunter2')
  })

  const source = { namespace: '', name: 'incoming' }
  const changeSource = async (patch: object) => {
    await bench.client.mergePatch(secret, { ...source, namespace: space }, patch)
    await bench.rest()
  }
  const latest = async () => currentVersion((await entry())?.spec as never)

  it('store a new version for a changed value of the source Secret only', async () => {
    await startWithSecret()
    await changeSource({ metadata: { labels: { touched: 'yes' } } })
    expect(await latest()).to.equal(1)
    await changeSource({ data: { value: Buffer.from('hunter3').toString('base64') } })
    expect(await latest()).to.equal(2)
    expect(await valueAt(2)).to.equal('hunter3')
  })

  it('store another value only if source or value changed', async () => {
    await startWithSecret()
    await change({ valueFrom: { secretName: 'other', key: 'value' } })
    seedSource('set by somebody', { name: 'other' })
    await bench.rest()
    expect(await latest()).to.equal(2)
    await change({ valueFrom: { secretName: 'incoming', key: 'value' } })
    expect(await latest(), 'another source counts').to.equal(3)
    await changeSource({ metadata: { annotations: { refreshed: 'now' } } })
    expect(await latest()).to.equal(3)
  })

  it('keep the value and stay Available when the source Secret is deleted', async () => {
    await startWithSecret()
    await bench.client.remove(secret, { ...source, namespace: space })
    await bench.rest()
    expect((await entry())?.status).to.include({ phase: 'Available', version: 1 })
    expect(await valueAt(1)).to.equal('hunter2')
  })

  it('store the value as soon as the source Secret is created', async () => {
    seedVault()
    seedEntry()
    await bench.start()
    expect((await entry())?.status?.phase).to.equal('WaitingForDependency')
    seedSource('late')
    await bench.rest()
    expect(await valueAt(1)).to.equal('late')
  })

  it('report ReferenceMissing for a Secret of another owner and leave it', async () => {
    seedVault()
    seedSource('key', { labels: { 'freehold.dev/owner-kind': 'VectorCluster' } })
    seedEntry()
    await bench.start()
    expect((await entry())?.status?.phase).to.equal('ReferenceMissing')
    expect(await secrets()).to.deep.equal(['incoming'])
  })

  async function startWithSecret(vaultSpec: object = {}): Promise<void> {
    seedVault(vaultSpec)
    seedSource('hunter2')
    seedEntry()
    await bench.start()
  }

  it('purge a deleted entry after its retention and delete it after as many days again', async () => {
    await startWithSecret()
    await change({ state: 'Deleted' })
    const deletedAt = (await entry())?.spec.history?.deletedAt ?? ''
    expect(Date.parse(deletedAt)).to.equal(Math.floor(bench.clock.now() / 1000) * 1000)
    await pass(7 * DAY - 60_000)
    expect(await secrets()).to.have.length(3)
    await pass(120_000)
    expect(await secrets()).to.deep.equal(['incoming'])
    expect((await entry())?.spec).to.include({ state: 'Purged' })
    expect((await entry())?.spec.history).to.include({ lastVersion: 1 })
    await pass(6 * DAY)
    expect(await entry()).not.to.equal(undefined)
    await pass(2 * DAY)
    expect(await entry()).to.equal(undefined)
  })

  it('keep an entry that is recovered within its retention', async () => {
    await startWithSecret()
    await change({ state: 'Deleted' })
    await pass(6 * DAY)
    await change({ state: 'Active' })
    await pass(30 * DAY)
    expect(await valueAt(1)).to.equal('hunter2')
    expect((await entry())?.spec.history).not.to.have.property('deletedAt')
  })

  it('continue the version numbers in a new life after a purge', async () => {
    await startWithSecret()
    await change({ state: 'Deleted' })
    await change({ state: 'Purged' })
    expect(await secrets()).to.deep.equal(['incoming'])
    seedSource('again')
    await change({ state: 'Active', valueFrom: { secretName: 'incoming', key: 'value' } })
    expect((await entry())?.spec.history).to.include({ life: 2, lastVersion: 2 })
    expect(await valueAt(2, 2)).to.equal('again')
  })

  it('copy a later purge protection to the entries', async () => {
    await startWithSecret()
    await bench.client.mergePatch(
      SecretVault.resource,
      { namespace: space, name: 'safe' },
      { spec: { enablePurgeProtection: true } },
    )
    await bench.rest()
    expect((await entry())?.spec.history?.purgeProtection).to.equal(true)
  })

  it('rewrap data keys with a new platform key, so that the old one can be retired', async () => {
    await startWithSecret()
    expect(await keyIdStored()).to.equal('first')
    keys.add('second')
    await bench.rest()
    await pass(10_000)
    expect(await keyIdStored()).to.equal('second')
    expect((await entry())?.status?.keyId).to.equal('second')
    expect((await vault())?.status).to.include({ keyId: 'second', pendingRewraps: 0 })
    keys.retire('first')
    await bench.rest()
    expect(await valueAt(1)).to.equal('hunter2')
  })

  it('report that no platform key is configured, without writing again, until there is one', async () => {
    keys.retire('first')
    seedVault()
    await bench.start()
    await bench.rest()
    const reported = async () => ((await vault())?.status as { phase?: string } | undefined)?.phase
    expect(await reported()).to.equal('ConfigurationInvalid')
    const before = bench.client.calls.length
    await pass(60_000)
    expect(bench.client.calls.slice(before).filter(({ verb }) => verb !== 'watch')).to.deep.equal([])
    keys.add('second')
    await bench.rest()
    expect(await reported()).to.equal('Available')
  })

  it('report a missing platform key', async () => {
    await startWithSecret()
    keys.retire('first')
    keys.add('second')
    await bench.rest()
    const { status } = (await entry()) ?? {}
    expect(`${status?.phase}: ${status?.statusMessage}`).to.equal(
      'ConfigurationInvalid: The platform key "first" is no longer configured.',
    )
  })

  it('remove the mounted Secret when the value expires, by the clock alone', async () => {
    await startWithSecret()
    const expiresOn = new Date(bench.clock.now() + 3_600_000).toISOString()
    await change({ mountAs: { secretName: 'mounted', key: 'password' }, expiresOn })
    expect(await secrets()).to.include('mounted')
    await pass(3_599_000)
    expect(await secrets()).to.include('mounted')
    await pass(2_000)
    expect(await secrets()).not.to.include('mounted')
  })

  const faults: [sentence: string, fault: () => unknown][] = [
    ['its source Secret is too large', () => seedSource('x'.repeat(100_000))],
    ['its source Secret is missing', () => change({ valueFrom: { secretName: 'later', key: 'value' } })],
    [
      'its platform key is missing',
      () => {
        keys.retire('first')
        keys.add('second')
      },
    ],
  ]
  for (const [sentence, fault] of faults)
    for (const [what, ends] of [
      ['is disabled', () => change({ enabled: false })],
      ['has expired', () => pass(3_601_000)],
    ] as const)
      it(`remove the mounted Secret of a value that ${what} although ${sentence}`, async () => {
        await startWithSecret()
        const expiresOn = new Date(bench.clock.now() + 3_600_000).toISOString()
        await change({ mountAs: { secretName: 'mounted', key: 'password' }, expiresOn })
        expect(await secrets()).to.include('mounted')
        await fault()
        await bench.rest()
        expect((await entry())?.status?.phase).not.to.equal('Available')
        await ends()
        expect(await secrets()).not.to.include('mounted')
      })

  it('rewrap data keys although the source Secret is too large', async () => {
    await startWithSecret()
    seedSource('x'.repeat(100_000))
    await bench.rest()
    expect((await entry())?.status?.phase).to.equal('ReferenceMissing')
    keys.add('second')
    await bench.rest()
    await pass(10_000)
    expect(await keyIdStored()).to.equal('second')
    expect((await entry())?.status?.phase).to.equal('ReferenceMissing')
  })

  it('delete entries and Secrets with their vault, but not the source Secret', async () => {
    await startWithSecret()
    await bench.client.remove(SecretVault.resource, { namespace: space, name: 'safe' })
    await bench.rest()
    await pass(60_000)
    expect(await entry()).to.equal(undefined)
    expect(await secrets()).to.deep.equal(['incoming'])
    expect(await vault()).to.equal(undefined)
  })
})
