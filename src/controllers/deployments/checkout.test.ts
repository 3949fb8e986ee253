import { expect } from 'chai'
import { FakeSources } from '../../adapters/sources/fake.ts'
import { messageOf } from '../../core/errors.ts'
import type { KubeObject } from '../../core/object.ts'
import { checkoutCredentials } from './checkout.ts'

const ID = '7b0c5d6e-1f2a-4b3c-8d4e-5f6a7b8c9d0e'
const HOST = 'https://git.platform.test'

describe('checkoutCredentials', () => {
  const ask = async (spec: object, status: object = {}) => {
    const source = { metadata: { name: ID, namespace: 'boundary-one' }, spec, status } as unknown as KubeObject
    const token = Buffer.from('good-token').toString('base64')
    const records = {
      cache: () => ({ get: () => source }),
      client: { get: async () => ({ metadata: {}, data: { token } }) },
    }
    const sources = new FakeSources()
    const [known] = await sources.repositories({
      provider: 'Gitea',
      baseUrl: HOST,
      credentials: { token: 'good-token' },
    } as never)
    const pass = { records, scope: { boundaryId: 'one' } } as unknown as Parameters<typeof checkoutCredentials>[0]
    const asked = { repositoryUrl: known?.cloneUrl ?? '', deploymentSourceId: ID }
    return checkoutCredentials(pass, asked, { sources }).catch(messageOf)
  }
  const circuit = { provider: 'Circuit', baseUrl: HOST }

  it('returns the clone token of an enabled source', async () => {
    for (const spec of [circuit, { ...circuit, circuit: { enabled: true } }])
      expect(await ask(spec)).to.deep.equal({ username: 'x', token: 'clone-token' })
  })

  it('rejects a disabled source and one whose installation was removed', async () => {
    const disabled = 'The deployment source is disabled: it gives no credentials.'
    expect(await ask({ ...circuit, circuit: { enabled: false } })).to.equal(disabled)
    expect(await ask({ ...circuit, provider: 'Gitea' }, { removedAt: '2026-01-01T00:00:00Z' })).to.equal(disabled)
  })
})
