import { expect } from 'chai'
import type { KubeClient } from './client.ts'
import { waitUntilServed } from './crds.ts'

const DEFINITION = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things.example.com' },
  spec: { group: 'example.com', names: { plural: 'things', kind: 'Thing' }, versions: [{ name: 'v1' }] },
}

/** Accepts the names and, as a server that was ended in between, establishes nothing before the definition changes. */
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

describe('waiting until definitions are served', () => {
  it('writes to one that a server forgot to establish, once', async () => {
    const { client, touched } = forgetfulServer()
    await waitUntilServed(client, [DEFINITION], { timeout: 10_000, touchAfter: 1 })
    expect(touched()).to.equal(1)
  })

  it('leaves one alone that may still be on its way, and says which is late', async () => {
    const { client, touched } = forgetfulServer()
    const said = await waitUntilServed(client, [DEFINITION], { timeout: 1 }).catch(String)
    expect(said).to.contain('"things.example.com" is not served in time')
    expect(touched()).to.equal(0)
  })
})
