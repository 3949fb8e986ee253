import { expect } from 'chai'
import { seedGroup, seedVelero } from '../../../test/crashes/seeds.ts'
import { World } from '../../../test/crashes/world.ts'
import { COMPONENT_LABEL, containerNames, REVISION_LABEL } from '../../contracts/containerinstances.ts'
import { entryName } from '../../contracts/vaults/names.ts'
import { timestamp } from '../../core/clock.ts'
import { RETAINED_FOR_ANNOTATION } from '../../core/labels.ts'
import type { KubeObject } from '../../core/object.ts'
import { ContainerInstance } from '../../crds/containerinstances.ts'
import { SecretVault, VaultEntry } from '../../crds/vaults.ts'
import { deployment, persistentVolumeClaim, pod, storageClass } from '../../kube/builtin.ts'
import { veleroBackupStorageLocation } from '../../kube/velero.ts'

const NAME = 'shop'
const web = { name: 'web', image: 'site:1', ports: [{ name: 'http', port: 8080 }] }
type Amounts = Record<'requests' | 'limits', Record<string, string>>
const CONTROLLERS = ['containerinstance', 'secretvault', 'vaultentry']

describe('ContainerInstance controller', () => {
  let world: World

  beforeEach(async () => {
    world = new World((all) => all.filter(({ name }) => CONTROLLERS.includes(name)))
    seedGroup(world.server)
    await world.lead()
  })
  afterEach(() => world.stop())

  const make = async (spec: object) => {
    await world.make(ContainerInstance, NAME, spec)
    await world.rest()
  }
  const change = async (components: object[]) => {
    await world.change(ContainerInstance, NAME, { components })
    await world.rest()
  }
  const says = async () => {
    const found = await world.find(ContainerInstance.resource, NAME)
    const { status, phase, statusMessage } = (found?.status ?? {}) as Record<string, string>
    return `${status} ${phase}: ${statusMessage}`
  }
  const copies = async () =>
    (await world.server.list(pod)).items
      .map(({ metadata: { labels } }) => `${labels?.[COMPONENT_LABEL]} ${labels?.[REVISION_LABEL]}`)
      .sort()

  const fates: [sentence: string, tag: string, expected: string][] = [
    ['an image that cannot be pulled', 'missing', 'ImagePullFailed: The image site:missing'],
    ['a process that exits', 'crashing', 'CrashLooping: A container of component "web" ends with exit code 3'],
    ['a container that runs out of memory', 'hungry', 'CrashLooping: A container of component "web" ran out of memory'],
    ['a pod that fits on no node', 'large', 'PlanDoesNotFit: No node has 512Mi memory left for component "web"'],
    [
      'a failing readiness probe',
      'slow',
      'RollingOut: 1 of 1 copy is ready. A container of component "web" runs, but its readiness probe',
    ],
  ]
  for (const [sentence, tag, expected] of fates) {
    it(`keeps the old revision and reports ${sentence}`, async () => {
      await make({ components: [web] })
      expect(await says()).to.equal('Running Available: The copy is ready.')
      await change([{ ...web, image: `site:${tag}` }])
      expect(await says()).to.include(expected)
      expect(await says()).to.match(/^(Degraded|Updating) /)
      expect(await copies()).to.deep.equal(['web 1', 'web 2'])
      await change([web])
      expect(await says()).to.equal('Running Available: The copy is ready.')
      expect(await copies()).to.deep.equal(['web 3'])
    })
  }

  it('reserves the disk of sized Ephemeral volumes and sets no disk limit without one', async () => {
    const volumes = [
      { name: 'cache', kind: 'Ephemeral', size: '20Gi' },
      { name: 'scratch', kind: 'Ephemeral' },
    ]
    const mounts = volumes.map(({ name }) => ({ volume: name, path: `/${name}` }))
    const worker = { name: 'worker', image: 'worker:1' }
    await world.make(ContainerInstance, NAME, { components: [{ ...web, mounts }, worker], volumes })
    await world.rest()
    const shares = (await world.server.list(deployment)).items.map(({ spec }) => {
      const { containers } = (spec as { template: { spec: { containers: [{ resources: Amounts }] } } }).template.spec
      const { requests, limits } = containers[0].resources
      return [requests['ephemeral-storage'], limits['ephemeral-storage']]
    })
    expect(shares).to.have.deep.members([
      ['20608Mi', '24Gi'],
      [undefined, undefined],
    ])
  })

  it('keeps values that pods of an old revision may still read', async () => {
    const vaultName = 'safe'
    await world.make(SecretVault, vaultName, {})
    for (const secretName of ['Token', 'Key']) {
      await world.makeSecret(`incoming-${secretName.toLowerCase()}`, { value: secretName })
      const valueFrom = { secretName: `incoming-${secretName.toLowerCase()}`, key: 'value' }
      await world.make(VaultEntry, entryName(vaultName, secretName), { vaultName, secretName, valueFrom })
    }
    await world.rest()
    const env = (...names: string[]) => names.map((name) => ({ name, secret: { vaultName, secretName: name } }))
    const held = async () => Object.keys((await world.secret(containerNames(NAME).values('web'))) ?? {})
    await make({ components: [{ ...web, env: env('Key', 'Token') }] })
    expect(await held()).to.deep.equal(['Key', 'Token'])

    await change([{ ...web, image: 'site:missing', env: env('Key') }])
    expect(await copies(), 'the old one serves').to.deep.equal(['web 1', 'web 2'])
    expect(await held()).to.have.members(['Key', 'Token'])
    await change([{ ...web, image: 'site:missing' }])
    expect(await held(), 'nothing is read by what is to come').to.have.members(['Key', 'Token'])

    await change([{ ...web, image: 'site:2', env: env('Key') }])
    expect(await copies()).to.deep.equal(['web 4'])
    expect(await held()).to.deep.equal(['Key'])
    await change([{ ...web, image: 'site:2' }])
    expect([await copies(), await held()]).to.deep.equal([['web 5'], []])
  })

  it('removes the values of a removed component after a missing reference stalled it', async () => {
    await world.make(SecretVault, 'safe', {})
    await world.makeSecret('incoming', { value: 'Token' })
    const secretName = 'Token'
    const valueFrom = { secretName: 'incoming', key: 'value' }
    await world.make(VaultEntry, entryName('safe', secretName), { vaultName: 'safe', secretName, valueFrom })
    await world.rest()
    const reading = (name: string) => [{ name: 'TOKEN', secret: { vaultName: 'safe', secretName: name } }]
    const worker = { name: 'worker', image: 'worker:1', env: reading('Token') }
    await make({ components: [web, worker] })
    const held = () => world.secret(containerNames(NAME).values('worker'))
    expect(await held()).to.have.keys('TOKEN')
    await change([{ ...web, env: reading('Missing') }])
    expect(await says()).to.include('ReferenceMissing')
    await change([web])
    expect(await says()).to.include('Available')
    expect(await held()).to.equal(undefined)
  })

  it('starts once the vault value it reads becomes valid', async () => {
    await world.make(SecretVault, 'safe', {})
    await world.makeSecret('incoming', { value: 'Token' })
    const secretName = 'Token'
    const valueFrom = { secretName: 'incoming', key: 'value' }
    const notBefore = timestamp(world.clock.now() + 3_600_000)
    await world.make(VaultEntry, entryName('safe', secretName), { vaultName: 'safe', secretName, valueFrom, notBefore })
    await make({ components: [{ ...web, env: [{ name: 'TOKEN', secret: { vaultName: 'safe', secretName } }] }] })
    expect(await says()).to.include('cannot be read now: NotYetValid')
    await world.pass(3_601_000)
    expect(await says()).to.equal('Running Available: The copy is ready.')
  })

  it('reports StorageCannotShrink for a kept volume larger than requested and does not take it back', async () => {
    const withVolume = (size: string) => ({
      components: [{ ...web, mounts: [{ volume: 'disk', path: '/data' }] }],
      volumes: [{ name: 'disk', kind: 'Persistent', size }],
    })
    const kept = async () =>
      (await world.server.list(persistentVolumeClaim)).items.map(
        ({ metadata }) => metadata.annotations?.[RETAINED_FOR_ANNOTATION],
      )
    await make({ ...withVolume('7Gi'), onDelete: 'Retain' })
    await world.remove(ContainerInstance, NAME)
    await world.rest()
    expect(await kept()).to.deep.equal([`ContainerInstance/${NAME}`])
    await make(withVolume('1Gi'))
    expect(await says()).to.include('StorageCannotShrink: The kept volume "disk" has 7Gi')
    expect(await kept()).to.deep.equal([`ContainerInstance/${NAME}`])
    await world.change(ContainerInstance, NAME, withVolume('7Gi'))
    await world.rest()
    expect(await kept()).to.deep.equal([undefined])
  })

  it('leaves a volume that is deleted while stopped to whoever restores it, until the next change', async () => {
    const claims = async () => (await world.server.list(persistentVolumeClaim)).items.map(({ metadata }) => metadata)
    const volumes = [{ name: 'disk', kind: 'Persistent', size: '1Gi' }]
    await make({ components: [{ ...web, mounts: [{ volume: 'disk', path: '/data' }] }], volumes, running: false })
    const { items } = await world.server.list(persistentVolumeClaim)
    const claim = items[0] as KubeObject
    expect(await says()).to.include('Stopped')
    const { namespace = '', name, labels, annotations = {} } = claim.metadata
    const lose = async () => {
      await world.server.remove(persistentVolumeClaim, { namespace, name })
      await world.rest()
    }
    await lose()
    expect(await claims()).to.deep.equal([])
    // As Velero restores it: without its owner.
    const metadata = { namespace, name, labels: labels ?? {}, annotations }
    await world.server.create(persistentVolumeClaim, { ...claim, metadata })
    await world.rest()
    const [restored] = await claims()
    expect(restored?.ownerReferences).to.have.length(1)
    await lose()
    await world.change(ContainerInstance, NAME, { running: true })
    await world.rest()
    expect(await claims()).to.have.length(1)
  })

  it("sets imagePullSecrets only for images in the platform's own registry", async () => {
    await make({
      components: [
        { ...web, image: 'registry.test/b/g/site:1' },
        { name: 'worker', image: 'worker:1' },
      ],
    })
    const secrets = (await world.server.list(deployment)).items.map((found) => {
      const { spec } = found as { spec?: { template: { spec: { imagePullSecrets?: { name: string }[] } } } }
      return spec?.template.spec.imagePullSecrets?.map(({ name }) => name) ?? []
    })
    expect(secrets.sort()).to.deep.equal([[], ['freehold-registry-pull']])
  })

  it('starts and changes a component only when its dependencies are ready', async () => {
    const worker = { name: 'worker', image: 'worker:1', dependsOn: ['web'] }
    await make({ components: [worker, { ...web, image: 'site:slow' }] })
    expect(await copies()).to.deep.equal(['web 1'])
    expect(await says()).to.include('A container of component "web" runs, but its readiness probe')
    await change([worker, web])
    expect(await copies()).to.deep.equal(['web 2', 'worker 1'])
    await change([
      { ...worker, image: 'worker:2' },
      { ...web, image: 'site:missing' },
    ])
    expect(await copies()).to.deep.equal(['web 2', 'web 3', 'worker 1'])
    await change([{ ...worker, image: 'worker:2' }, web])
    expect(await copies()).to.deep.equal(['web 4', 'worker 3'])
  })

  it('replaces only the copies of the component that changed', async () => {
    const worker = { name: 'worker', image: 'worker:1' }
    await make({ components: [web, worker] })
    await change([web, { ...worker, image: 'worker:2' }])
    expect(await copies()).to.deep.equal(['web 1', 'worker 2'])
    await change([
      { ...web, replicas: 2 },
      { ...worker, image: 'worker:2' },
    ])
    expect(await copies()).to.deep.equal(['web 1', 'web 1', 'worker 2'])
  })

  it('grows volumes as soon as their storage class allows it', async () => {
    const standard = { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name: 'standard' } }
    const allowGrowth = (allowVolumeExpansion: boolean) =>
      world.server.seed(storageClass, {
        ...standard,
        allowVolumeExpansion,
        provisioner: 'disks.example.com',
      } as KubeObject)
    const volumes = (size: string) => [{ name: 'disk', kind: 'Persistent', size, storageClass: 'standard' }]
    type Claim = KubeObject & { spec: { resources: { requests: { storage: string } } } }
    const sizes = async () =>
      (await world.server.list<Claim>(persistentVolumeClaim)).items.map(({ spec }) => spec.resources.requests.storage)
    await make({ components: [{ ...web, mounts: [{ volume: 'disk', path: '/data' }] }], volumes: volumes('1Gi') })
    allowGrowth(false)
    await world.change(ContainerInstance, NAME, { volumes: volumes('2Gi') })
    await world.rest()
    expect(await sizes()).to.deep.equal(['1Gi'])
    allowGrowth(true)
    await world.rest()
    expect(await sizes()).to.deep.equal(['2Gi'])
  })

  it('ignores validation times of the Velero backup location but not its phase', async () => {
    seedVelero(world.server)
    await world.makeSecret('incoming', { value: 'hunter2' })
    await world.make(SecretVault, 'safe', {})
    const valueFrom = { secretName: 'incoming', key: 'value' }
    await world.make(VaultEntry, entryName('safe', 'Token'), { vaultName: 'safe', secretName: 'Token', valueFrom })
    const env = [{ name: 'TOKEN', secret: { vaultName: 'safe', secretName: 'Token' } }]
    await make({ components: [{ ...web, env }], backupPolicy: { schedule: '0 2 * * *', retentionDays: 7 } })
    const looked = async (status: object) => {
      const before = world.server.count('get')
      const ref = { namespace: 'velero', name: 'default' }
      await world.server.mergePatch(veleroBackupStorageLocation, ref, { status }, { subresource: 'status' })
      await world.rest()
      return world.server.count('get') - before
    }
    expect(await says()).to.include('Available')
    expect(await looked({ lastValidationTime: '2026-01-01T00:01:00Z' })).to.equal(0)
    expect(await looked({ phase: 'Unavailable' })).to.be.greaterThan(0)
    expect(await says()).to.include('ConfigurationInvalid: The backup target')
  })

  it('reports NameOccupied for a host of another resource until that is deleted', async () => {
    await make({ components: [web], isPublic: true, customDomains: ['shop.example.com'] })
    expect(await says()).to.include('Available')
    await world.make(ContainerInstance, 'other', {
      components: [web],
      isPublic: true,
      customDomains: ['shop.example.com'],
    })
    await world.rest()
    const other = async () => (await world.find(ContainerInstance.resource, 'other'))?.status as { phase?: string }
    expect((await other()).phase).to.equal('NameOccupied')
    await world.remove(ContainerInstance, NAME)
    await world.until('the host is free', async () => (await other()).phase === 'Available')
  })
})
