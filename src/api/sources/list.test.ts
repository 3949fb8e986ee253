import { expect } from 'chai'
import { BOUNDARY, startShop } from '../../../test/worlds/shop.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import { PlatformApp } from '../../crds/apps.ts'
import { BlueprintSource } from '../../crds/blueprintSources.ts'
import { DeploymentSource } from '../../crds/sources.ts'

const HOME = boundaryNamespace(BOUNDARY)
const ids = (count: number) =>
  Array.from({ length: count }, (_, at) => `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`)

describe('GET /sources', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    server = await startShop()
  })
  afterEach(() => server.stop())

  function put(names: readonly string[]): void {
    for (const id of names) {
      const installationId = `7${id.slice(-3)}`
      const spec = { provider: 'GitHub', displayName: id, baseUrl: 'https://github.com', installationId }
      server.put(DeploymentSource, id, spec, HOME)
    }
  }
  const list = async () => {
    const { body } = await server.ask('get', `/boundaries/${BOUNDARY}/sources?pageSize=50`)
    return body.items as { id: string; usedBy: { collection: string; name: string }[] }[]
  }

  it('lists in usedBy what refers to a source, by its id or by the installation', async () => {
    const [one = '', other = ''] = ids(2)
    put([one, other])
    const repositoryUrl = 'https://github.com/acme/shop'
    const code = { sourceKind: 'Repository', repositoryUrl, deploymentSourceId: one }
    server.put(PlatformApp, 'web', code, groupNamespace(BOUNDARY, 'shop'))
    const spec = { repositoryUrl, ref: 'main', path: '/' }
    server.put(BlueprintSource, 'by-id', { ...spec, installationId: other.toUpperCase() }, HOME)
    server.put(BlueprintSource, 'by-installation', { ...spec, installationId: '7001' }, HOME)
    server.put(BlueprintSource, 'by-another', { ...spec, installationId: '8001' }, HOME)
    const items = await list()
    const named = (id: string) => items.find((item) => item.id === id)?.usedBy.map(({ name }) => name)
    expect([named(one), named(other)?.sort()]).to.deep.equal([['web'], ['by-id', 'by-installation']])
  })

  it('reads the apps once for 30 sources, as for one', async () => {
    const apps = server.caches.get(PlatformApp.resource)
    const listApps = apps.list.bind(apps)
    let reads = 0
    apps.list = (...given: Parameters<typeof listApps>) => {
      reads += 1
      return listApps(...given)
    }
    put(ids(1))
    await list()
    const ofOne = reads
    put(ids(30))
    await list()
    expect([ofOne > 0, reads - ofOne]).to.deep.equal([true, ofOne])
  })
})
