import { expect } from 'chai'
import { messageOf } from '../core/errors.ts'
import { secretData } from '../core/secretData.ts'
import { secret } from './builtin.ts'
import { FakeKubeClient } from './fake.ts'
import { putSecret, secretOwner } from './putSecret.ts'

describe('putSecret', () => {
  it('keeps the entries of concurrent writers who create the Secret', async () => {
    const server = new FakeKubeClient()
    const ref = { namespace: 'a', name: 'x' }
    await Promise.all(['one', 'two', 'three'].map((name) => putSecret(server, ref, secretData({ [name]: '1' }))))
    const { data } = (await server.get(secret, ref)) as { data?: object }
    expect(data).to.have.all.keys('one', 'two', 'three')
  })

  const owner = {
    ...secretOwner({ apiVersion: 'v1', kind: 'Owner' }, { name: 'o', uid: 'u' }),
    labels: { app: 'x' },
    incarnation: 'life',
  }
  const reference = { apiVersion: 'v1', kind: 'Owner', name: 'o', uid: 'u' }
  for (const [where, given, ownerReferences] of [
    ['its owner', owner, [reference]],
    ['an owner in another cluster', { ...owner, isElsewhere: true }, undefined],
    ['no owner', undefined, undefined],
  ] as const)
    it(`creates a Secret of ${where}`, async () => {
      const server = new FakeKubeClient()
      await putSecret(server, { namespace: 'a', name: 'x' }, secretData({ one: '1' }), given)
      const { metadata, type } = await server.get(secret, { namespace: 'a', name: 'x' })
      expect(metadata.ownerReferences).to.deep.equal(ownerReferences)
      expect(metadata.labels).to.deep.equal({ ...given?.labels, 'app.kubernetes.io/managed-by': 'freehold' })
      expect(metadata.annotations?.['freehold.dev/incarnation-of-owner']).to.equal(given?.incarnation)
      expect(type).to.equal('Opaque')
    })

  it('creates nothing if the Secret cannot be written', async () => {
    const server = new FakeKubeClient()
    const away = { create: server.create.bind(server), mergePatch: () => Promise.reject(new Error('It is away.')) }
    const failure = await putSecret(away, { namespace: 'a', name: 'x' }, {}).catch(messageOf)
    expect([failure, (await server.list(secret)).items]).to.deep.equal(['It is away.', []])
  })
})
