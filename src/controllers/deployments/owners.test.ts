import { expect } from 'chai'
import { HOME, seedGroup } from '../../../test/crashes/seeds.ts'
import { World } from '../../../test/crashes/world.ts'
import { INCARNATION_ANNOTATION, OWNER_INCARNATION_ANNOTATION } from '../../core/labels.ts'
import type { KubeObject, Resource } from '../../core/object.ts'
import { PlatformApp } from '../../crds/apps.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import type { Workspace } from '../engine/controller.ts'
import { bindToOwner, OWNER_KINDS, RECORD_OBSERVERS, type RecordPass } from './owners.ts'

const owner = (kind: { apiVersion: string; kind: string }, annotations: Record<string, string>): KubeObject => ({
  apiVersion: kind.apiVersion,
  kind: kind.kind,
  metadata: { name: 'shop', namespace: 'home', uid: 'uid-of-shop', annotations },
  spec: {},
})
const ID = '6e2f8a52-7a4e-4b52-9a55-0d6c8f3f9b03'
const LIVING = { [INCARNATION_ANNOTATION]: 'a-life' }

describe('DeploymentRecord of a new owner', () => {
  for (const kind of OWNER_KINDS)
    it(`is requeued when its ${kind.kind} gets an incarnation`, () => {
      const observers = RECORD_OBSERVERS.flatMap((each) => ('resource' in each ? [each] : []))
      const observer = observers.find(({ resource }) => resource.kind === kind.kind)
      const seen = (annotations: Record<string, string>) => observer?.relevant?.(owner(kind, annotations))
      expect(seen(LIVING)).not.to.deep.equal(seen({}))
    })

  it('waits without a write while its owner has no incarnation', async () => {
    const patches: unknown[] = []
    const records = {
      cache: (resource: Resource) => ({
        get: () => (resource.kind === PlatformApp.kind ? owner(PlatformApp, {}) : undefined),
      }),
      client: { mergePatch: async (...asked: unknown[]) => patches.push(asked) },
    } as unknown as Workspace
    const object = {
      ...owner(DeploymentRecord, {}),
      spec: { ownerCollection: 'apps', ownerName: 'shop', strategy: 'Reported' },
    } as unknown as RecordPass['object']
    const { kind } = await bindToOwner({ object, records } as RecordPass)
    expect({ kind, patches }).to.deep.equal({ kind: 'waiting', patches: [] })
  })
})

describe('DeploymentRecord without an owner', () => {
  let world: World
  beforeEach(async () => {
    world = new World((all) => all.filter(({ name }) => ['platformapp', 'deploymentrecord'].includes(name)))
    seedGroup(world.server)
    await world.lead()
    const told = { ownerCollection: 'apps', ownerName: 'shop', strategy: 'Reported', phase: 'Succeeded' }
    await world.make(DeploymentRecord, ID, { ...told, image: 'shop:former' })
  })
  afterEach(() => world.stop())

  it('does not bind to an owner that is created later', async () => {
    await world.pass(10_000)
    await world.make(PlatformApp, 'shop', { sourceKind: 'Upload' })
    await world.rest()
    const { status } = (await world.find(PlatformApp.resource, 'shop')) as PlatformApp & KubeObject
    expect(status?.servingImage).to.equal(undefined)
    expect(await world.isGone(DeploymentRecord, ID)).to.equal(true)
  })

  it('deletes itself', async () => {
    await world.until('it is gone', () => world.isGone(DeploymentRecord, ID))
  })
})

describe('DeploymentRecord that is restored before its owner', () => {
  let world: World
  beforeEach(async () => {
    world = new World((all) => all.filter(({ name }) => ['platformapp', 'deploymentrecord'].includes(name)))
    seedGroup(world.server)
    await world.lead()
    const { apiVersion, kind, resource } = DeploymentRecord
    // Velero keeps annotations, and drops owner references.
    const annotations = { [OWNER_INCARNATION_ANNOTATION]: 'a-life' }
    const told = { ownerCollection: 'apps', ownerName: 'shop', strategy: 'Reported', phase: 'Succeeded' }
    const spec = DeploymentRecord.spec.parse({ ...told, image: 'shop:former' })
    await world.server.create(resource, {
      apiVersion,
      kind,
      metadata: { name: ID, namespace: HOME, annotations },
      spec,
    })
    await world.rest()
  })
  afterEach(() => world.stop())

  it('waits for it', async () => {
    const { apiVersion, kind, resource } = PlatformApp
    const spec = PlatformApp.spec.parse({ sourceKind: 'Upload' })
    const metadata = { name: 'shop', namespace: HOME, annotations: LIVING }
    await world.server.create(resource, { apiVersion, kind, metadata, spec })
    await world.rest()
    const found = await world.find(DeploymentRecord.resource, ID)
    expect(found?.metadata.ownerReferences?.map(({ name }) => name)).to.deep.equal(['shop'])
  })

  it('deletes itself if none comes', async () => {
    await world.pass(600_000)
    await world.until('it is gone', () => world.isGone(DeploymentRecord, ID))
  })
})
