import { expect } from 'chai'
import { secretData } from '../core/secretData.ts'
import { secret } from './builtin.ts'
import { FakeKubeClient } from './fake.ts'
import { putSecret } from './putSecret.ts'

describe('putSecret', () => {
  it('keeps the entries of concurrent writers who create the Secret', async () => {
    const server = new FakeKubeClient()
    const ref = { namespace: 'a', name: 'x' }
    await Promise.all(['one', 'two', 'three'].map((name) => putSecret(server, ref, secretData({ [name]: '1' }))))
    const { data } = (await server.get(secret, ref)) as { data?: object }
    expect(data).to.have.all.keys('one', 'two', 'three')
  })
})
