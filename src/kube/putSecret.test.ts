import { expect } from 'chai'
import { secret } from './builtin.ts'
import { FakeKubeClient } from './fake.ts'
import { putSecret } from './putSecret.ts'

describe('entries of a Secret', () => {
  it('are all kept when several are the first at once', async () => {
    const server = new FakeKubeClient()
    const ref = { namespace: 'a', name: 'x' }
    await Promise.all(['one', 'two', 'three'].map((name) => putSecret(server, ref, { [name]: 'MQ==' })))
    const { data } = (await server.get(secret, ref)) as { data?: object }
    expect(data).to.have.all.keys('one', 'two', 'three')
  })
})
