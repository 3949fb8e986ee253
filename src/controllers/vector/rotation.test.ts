import { expect } from 'chai'
import type { Workload } from '../../../test/worlds/kubernetesPlay.ts'
import { BOUNDARY_ID, HOME, VectorWorld } from '../../../test/worlds/vectorWorld.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { KEY_ANNOTATION } from '../../desired/vector/index.ts'
import { secret } from '../../kube/builtin.ts'

/** The current key must work on every peer if the engine accepts two keys, otherwise on at least one. */
function everywhere(world: VectorWorld, key: string | undefined): boolean {
  const running = [...world.accepted.values()]
  return key !== undefined && running.every((accepted) => accepted.includes(key))
}
function somewhere(world: VectorWorld, key: string | undefined): boolean {
  const running = [...world.accepted.values()]
  return running.length === 0 || (key !== undefined && running.some((accepted) => accepted.includes(key)))
}

/** The spec of a workload without its keys. */
function withoutKeys(workload: Workload | undefined): object {
  const { spec } = structuredClone(workload) as unknown as {
    spec: { template: { metadata: { annotations: object }; spec: { containers: [{ env: { name: string }[] }] } } }
  }
  const [container] = spec.template.spec.containers
  container.env = container.env.filter(({ name }) => !name.includes('API_KEY'))
  Object.assign(spec.template.metadata.annotations, { [KEY_ANNOTATION]: '' })
  return spec
}

describe('API keys of a running VectorCluster', () => {
  let world: VectorWorld
  async function begin(spec: Parameters<VectorWorld['create']>[0] = {}): Promise<void> {
    world = new VectorWorld()
    await world.start()
    await world.create({ computePlan: 'vector-medium', ...spec })
    await world.converge()
  }
  afterEach(() => world.stop())

  it('are pending until every peer accepts them, then replace the former ones', async () => {
    await begin()
    await world.change({ apiKeyVersion: 2 })
    await world.pass()
    expect(await world.storedKeys()).to.deep.include({ rotatedAt: undefined })
    expect((await world.storedKeys())?.current?.apiKey).to.equal('full-1')
    expect((await world.storedKeys())?.pending?.apiKey).to.equal('full-2')
    expect(await world.says()).to.equal('Updating RotatingKey: 3 of 3 peers are ready.')
    await world.play([2])
    await world.pass()
    expect((await world.storedKeys())?.current?.version, 'one peer has it').to.equal(1)
    await world.converge()
    const keys = await world.storedKeys()
    expect(keys?.current?.apiKey).to.equal('full-2')
    expect([keys?.pending, keys?.retired]).to.deep.equal([undefined, undefined])
    expect([...world.accepted.values()], 'the former key is dead').to.deep.equal([['full-2'], ['full-2'], ['full-2']])
    expect((await world.cluster()).status).to.include({ apiKeyVersion: 2 })
    expect(await world.says()).to.match(/^Running/)
  })

  it('are rotated at the start of a stopped database', async () => {
    await begin()
    await world.change({ running: false })
    await world.converge()
    await world.change({ apiKeyVersion: 2 })
    await world.converge()
    expect((await world.storedKeys())?.current?.version).to.equal(1)
    expect(await world.says()).to.match(/^Stopped Stopped/)
    await world.change({ running: true })
    await world.converge()
    expect((await world.storedKeys())?.current?.version).to.equal(2)
  })

  it('are removed from the peers while disabled and return with the same values', async () => {
    await begin()
    await world.change({ apiKeyEnabled: false })
    await world.converge()
    expect([...world.accepted.values()]).to.deep.equal([[], [], []])
    await world.change({ apiKeyEnabled: true })
    await world.converge()
    expect([...world.accepted.values()].flat()).to.deep.equal(['full-1', 'full-1', 'full-1'])
  })

  it('are regenerated and given to the peers after their Secret was deleted', async () => {
    await begin()
    await world.client.remove(secret, { namespace: HOME, name: 'vc-products-apikey' })
    await world.pass()
    expect((await world.storedKeys())?.current, 'no key is known to work').to.equal(undefined)
    await world.converge()
    expect((await world.storedKeys())?.current?.apiKey).to.equal('full-2')
    expect(everywhere(world, 'full-2')).to.equal(true)
  })

  it('are stored in the Secret only', async () => {
    await begin({ enableIngress: true })
    await world.change({ apiKeyVersion: 2 })
    await world.converge()
    const written = JSON.stringify([await world.cluster(), await world.workload()])
    for (const text of ['full-', 'read-1', 'read-2', Buffer.from('full-1').toString('base64')])
      expect(written).not.to.contain(text)
  })

  it('never overwrite keys that another process stored meanwhile', async () => {
    await begin()
    const name = 'vc-products-apikey'
    await world.change({ apiKeyVersion: 2 })
    await world.pass()
    const data = (await world.object(secret, name))?.data
    await world.play()
    world.client.edit(secret, { namespace: HOME, name }, (object) => {
      object.data = { ...(data as object), 'key-id.v2': Buffer.from('another').toString('base64') }
    })
    await world.converge()
    expect((await world.storedKeys())?.current?.id).to.equal('another')
    expect(everywhere(world, (await world.storedKeys())?.current?.apiKey)).to.equal(true)
  })

  const obstacles: [sentence: string, spec: Parameters<VectorWorld['create']>[0], says: RegExp][] = [
    ['its plan is missing', { computePlan: 'gone' }, / PlanNotFound: /],
    ['its image is not allowed', { imageName: 'own/qdrant:1' }, / ConfigurationInvalid: imageName /],
    ['its volumes cannot shrink', { storageSize: '1Gi' }, / StorageCannotShrink: /],
    ['its quota is exceeded', { replicas: 4 }, / QuotaExceeded: /],
  ]
  const limit = (quota: object) =>
    world.client.edit(Boundary.resource, { name: BOUNDARY_ID }, (object) => {
      Object.assign(object.spec as object, { quota })
    })
  for (const vectorVersion of ['1.18.2', '1.16.3'] as const)
    for (const [sentence, spec, says] of obstacles) {
      it(`are rotated although ${sentence}: ${vectorVersion}`, async () => {
        await begin({ vectorVersion })
        if (spec?.replicas !== undefined) limit({ storage: '1Gi' })
        const before = await world.workload()
        await world.change({ ...spec, apiKeyVersion: 2 })
        await world.converge()
        expect(await world.says()).to.match(says)
        expect([...world.accepted.values()]).to.deep.equal([['full-2'], ['full-2'], ['full-2']])
        expect((await world.storedKeys())?.current?.version).to.equal(2)
        expect((await world.storedKeys())?.retired).to.equal(undefined)
        expect((await world.cluster()).status).to.include({ apiKeyVersion: 2 })
        expect(world.broken).to.deep.equal([])
        expect(withoutKeys(await world.workload()), 'nothing else is changed').to.deep.equal(withoutKeys(before))
        const atRest = world.writes()
        await world.pass()
        expect(world.writes()).to.equal(atRest)
        limit({})
        await world.change({ computePlan: 'vector-medium', imageName: undefined, storageSize: undefined, replicas: 3 })
        await world.converge()
        expect(await world.says()).to.match(/^Running /)
        expect([...world.accepted.values()]).to.deep.equal([['full-2'], ['full-2'], ['full-2']])
        expect(withoutKeys(await world.workload())).to.deep.equal(withoutKeys(before))
      })

      it(`are required as soon as they are enabled although ${sentence}: ${vectorVersion}`, async () => {
        await begin({ vectorVersion, apiKeyEnabled: false })
        if (spec?.replicas !== undefined) limit({ storage: '1Gi' })
        await world.change({ ...spec, apiKeyEnabled: true })
        await world.converge()
        expect(await world.says()).to.match(says)
        expect([...world.accepted.values()]).to.deep.equal([['full-1'], ['full-1'], ['full-1']])
      })
    }

  it('start no pod of a database that is stopped and cannot run', async () => {
    await begin()
    await world.change({ running: false, computePlan: 'gone', apiKeyVersion: 2 })
    await world.converge()
    expect(world.accepted.size).to.equal(0)
    expect(await world.says()).to.match(/^Stopped /)
  })

  for (const version of ['1.18.2', '1.16.3'] as const) {
    const holds = version === '1.18.2' ? everywhere : somewhere
    const where = version === '1.18.2' ? 'on every peer' : 'on some peer'
    it(`work ${where} during a rotation of ${version} after a crash before or after any write`, async () => {
      for (let write = 0, crashed = true; crashed; write += 1) {
        for (const mode of ['before', 'after'] as const) {
          await begin({ vectorVersion: version })
          crashed = (await rotateWithCrash(write, mode, holds)) && crashed
          await world.stop()
        }
        expect(write, 'the rotation ends').to.be.lessThan(30)
      }
      await begin()
    })
  }

  async function rotateWithCrash(write: number, mode: 'before' | 'after', holds: typeof everywhere): Promise<boolean> {
    const at = `write ${write}, ${mode}`
    let crashed = false
    await world.change({ apiKeyVersion: 2 })
    world.crashAt(write, mode)
    for (let round = 0; round < 16; round += 1) {
      crashed = (await world.passOrCrash()) || crashed
      await check(at, holds)
      // Peers are replaced one by one, the highest first.
      await world.play([2 - (round % 3)])
      await check(at, holds)
    }
    await world.converge()
    const keys = await world.storedKeys()
    expect(keys?.current?.version, at).to.equal(2)
    expect(everywhere(world, keys?.current?.apiKey), at).to.equal(true)
    expect(keys?.retired, at).to.equal(undefined)
    expect(world.broken, at).to.deep.equal([])
    return crashed
  }

  async function check(at: string, holds: typeof everywhere): Promise<void> {
    const shown = (await world.storedKeys())?.current?.apiKey
    const accepted = JSON.stringify([...world.accepted])
    // With one key per peer, only the pending key works after the last peer is replaced and before the promotion.
    const pending = (await world.storedKeys())?.pending?.apiKey
    const works = holds(world, shown) || (holds === somewhere && everywhere(world, pending))
    expect(works, `${at}: ${shown} is shown, accepted are ${accepted}`).to.equal(true)
  }
})
