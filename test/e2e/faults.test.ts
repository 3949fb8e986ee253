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

  it('detects a half-open connection of a kind without events', async () => {
    all(await halfOpen(scene))
  })

  it('writes at one facade what another has just created', async () => {
    all(await elsewhere(scene, 3))
  })

  it('sends the age of its answers while the API server is away, then 503, and recovers', async () => {
    all(await away(scene, 20, BOUND))
  })

  it('lists all kinds again after etcd was restored', async () => {
    all(await restored(scene))
  })

  it('waits at its start for an API server that is away', async () => {
    all(await startedAlone(scene))
  })
})
