import { expect } from 'chai'
import { makeRegistry } from '../../../test/make/registry.ts'
import { BOUNDARY_ID, ControllerBench } from '../../../test/worlds/controllers.ts'
import { boundaryNamespace } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { RegistryRepository } from '../../crds/registry.ts'
import { repositoryController } from './repository.ts'

const REPOSITORY = `${BOUNDARY_ID}/shop/jobs/report`
const NAMESPACE = boundaryNamespace(BOUNDARY_ID)

describe('RegistryRepository controller', () => {
  const { registry, service } = makeRegistry()
  let bench: ControllerBench
  let read: string[]
  before(async () => {
    for (let at = 0; at < 30; at += 1) registry.push(REPOSITORY, `v${at}`, { text: `image ${at}` })
    const digestOf = registry.digestOf.bind(registry)
    registry.digestOf = (repository, tag) => {
      read.push(tag)
      return digestOf(repository, tag)
    }
    bench = new ControllerBench([
      repositoryController({ registry: { ...service, grace: 3_600_000, seesPushes: true } }),
    ])
  })
  beforeEach(() => {
    read = []
  })
  after(() => bench.stop())

  const stored = async () =>
    (await bench.find(RegistryRepository.resource, 'report', NAMESPACE)) as RegistryRepository & KubeObject
  const tagsOf = async (digest: string) =>
    (await stored()).status?.digests?.find((manifest) => manifest.digest === digest)?.tags
  const announce = async (announcedAt: string, changedTags: string[] | null) => {
    await bench.client.mergePatch(
      RegistryRepository.resource,
      { namespace: NAMESPACE, name: 'report' },
      {
        spec: { announcedAt, changedTags },
      },
    )
    await bench.rest()
  }

  it('reads all tags of a repository that it does not know', async () => {
    bench.seedGroup('shop')
    bench.seed(
      RegistryRepository,
      'report',
      { repository: REPOSITORY, announcedAt: '2026-01-01T00:00:00Z', digests: {} },
      { namespace: NAMESPACE },
    )
    await bench.start()
    await bench.rest()
    expect(new Set(read)).to.have.property('size', 30)
    expect((await stored()).status).to.include({ tagCount: 30 })
  })

  it('reads only the pushed tags after a push, also one that pointed elsewhere', async () => {
    const moved = registry.push(REPOSITORY, 'v3', { text: 'image of another build' })
    registry.push(REPOSITORY, 'new', { text: 'image that is new' })
    await announce('2026-01-01T00:01:00Z', ['v3'])
    expect([...new Set(read)].sort()).to.deep.equal(['new', 'v3'])
    expect(await tagsOf(moved)).to.deep.equal(['v3'])
    expect((await stored()).status).to.include({ tagCount: 31 })
  })

  it('reads all tags again if it is not told which of them changed', async () => {
    await announce('2026-01-01T00:02:00Z', null)
    expect(new Set(read)).to.have.property('size', 31)
  })
})
