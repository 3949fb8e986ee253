import { expect } from 'chai'
import type { KubeClient } from './client.ts'
import { waitUntilServed } from './crds.ts'

const DEFINITION = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things.example.com' },
  spec: { group: 'example.com', names: { plural: 'things', kind: 'Thing' }, versions: [{ name: 'v1' }] },
}

/** A server that stopped halfway: it establishes the CRD only after a change of the CRD. */
function forgetfulServer() {
  let touched = 0
  const client = {
    get: async () => ({
      ...DEFINITION,
      status: {
        conditions: [
          { type: 'NamesAccepted', status: 'True' },
          { type: 'Established', status: touched > 0 ? 'True' : 'False' },
        ],
      },
    }),
    mergePatch: async () => {
      touched += 1
    },
    request: async () => ({ status: 200, text: async () => '{"name":"things"}' }),
  } as unknown as KubeClient
  return { client, touched: () => touched }
}

describe('waitUntilServed', () => {
  it('touches a CRD once if the server does not establish it', async () => {
    const { client, touched } = forgetfulServer()
    await waitUntilServed(client, [DEFINITION], { timeout: 10_000, touchAfter: 1 })
    expect(touched()).to.equal(1)
  })

  it('touches nothing before touchAfter, and names the CRD that is not served in time', async () => {
    const { client, touched } = forgetfulServer()
    const failure = await waitUntilServed(client, [DEFINITION], { timeout: 1 }).catch(String)
    expect(failure).to.contain('"things.example.com" is not served in time')
    expect(touched()).to.equal(0)
  })
})
