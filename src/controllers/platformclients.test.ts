import { expect } from 'chai'
import { ControllerBench } from '../../test/worlds/controllers.ts'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import { PlatformClient } from '../crds/identity.ts'
import { platformClientController } from './platformclients.ts'

const ID = '3f0e6f0a-6a43-4a53-9d2b-1f3a7c0f9e11'

describe('PlatformClient controller', () => {
  it('reports ReferenceMissing and what to do while the Secret is missing', async () => {
    const bench = new ControllerBench([platformClientController])
    const ref = { namespace: SYSTEM_NAMESPACE, name: ID }
    bench.seed(PlatformClient, ID, { displayName: 'Pipeline', isEnabled: true, secretName: 'pipeline' }, ref)
    await bench.start()
    const shown = async (missingSecrets: string[] | null) => {
      await bench.client.mergePatch(
        PlatformClient.resource,
        ref,
        { status: { missingSecrets } },
        { subresource: 'status' },
      )
      await bench.rest()
      const found = await bench.find(PlatformClient.resource, ID, SYSTEM_NAMESPACE)
      return found?.status as NonNullable<PlatformClient['status']>
    }
    const missing = await shown(['pipeline'])
    expect([missing.status, missing.phase]).to.deep.equal(['Failed', 'ReferenceMissing'])
    expect(missing.statusMessage).to.match(
      /^The Secret "pipeline" is missing.*make it in the namespace freehold-system/,
    )
    const types = missing.conditions?.map(({ type, status }) => `${type} ${status}`)
    expect(types).to.deep.equal(['Ready False', 'Stalled True'])
    expect((await shown(['one-that-it-named-before'])).status).to.equal('Running')
    expect((await shown(null)).status).to.equal('Running')
    await bench.stop()
  })
})
