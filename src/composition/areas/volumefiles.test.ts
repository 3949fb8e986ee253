import { expect } from 'chai'
import type { PlatformError } from '../../core/errors.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import type { FacadeSetup } from './setup.ts'
import { volumeFileServices } from './volumefiles.ts'

describe('volumeFileServices with another cluster', () => {
  it('rejects requests with FEATURE_UNSUPPORTED if no files image is configured', async () => {
    const configuration = { filesImage: undefined, simulated: [] }
    const { volumeFiles } = volumeFileServices({
      configuration,
      client: new FakeKubeClient(),
    } as unknown as FacadeSetup)
    const place = {
      namespace: 'shop',
      clusterId: 'far',
      owner: { apiVersion: 'v1', kind: 'ConfigMap', name: 'web', uid: 'u1' },
      volumes: [],
      identity: { user: 65_532 },
    }
    const { signal } = new AbortController()
    const error = await volumeFiles.ask(place, { op: 'list', path: '/data' }, { signal }).catch((caught) => caught)
    expect((error as PlatformError).code).to.equal('FEATURE_UNSUPPORTED')
    expect((error as PlatformError).message).to.contain('filesImage')
  })
})
