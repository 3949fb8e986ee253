// @alone @long: cuts the network of its own platform, and restores its etcd.
import { expect } from 'chai'
import type { Oracle } from '../faults/oracle.ts'
import { away, elsewhere, halfOpen, restored } from '../faults/oracles.ts'
import { Scene } from '../faults/scene.ts'
import { startedAlone } from '../faults/starts.ts'

const BOUND = 8

/** `npm run faults` does the same for longer, and requires more speed. */
describe('a platform under faults', () => {
  let scene: Scene
  before(async () => {
    scene = await Scene.set({ PLATFORM_STALE_READ_SECONDS: String(BOUND) })
  })
  after(() => scene?.stop())

  const all = (oracles: readonly Oracle[]) =>
    expect(oracles.filter(({ holds }) => !holds).map(({ sentence, seen }) => `${sentence}: ${seen}`)).to.deep.equal([])

  it('notices a connection that fell silent, of a kind in which nothing happens', async () => {
    all(await halfOpen(scene))
  })

  it('writes at one facade what another has just made', async () => {
    all(await elsewhere(scene, 3))
  })

  it('says how old its answers are while the API server is away, then nothing, and is well again afterwards', async () => {
    all(await away(scene, 20, BOUND))
  })

  it('lists everything anew after etcd was restored', async () => {
    all(await restored(scene))
  })

  it('waits for an API server that is away when it starts', async () => {
    all(await startedAlone(scene))
  })
})
