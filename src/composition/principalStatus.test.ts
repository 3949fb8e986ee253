import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type { Configuration } from '../config.ts'
import { FakeKubeClient } from '../kube/fake.ts'
import { principalStatusOf } from './principalStatus.ts'

describe('principalStatusOf', () => {
  const client = new FakeKubeClient()
  const users = { find: async () => undefined } as unknown as Parameters<typeof principalStatusOf>[1]['users']
  const endOf = (identityProvider: Configuration['identityProvider'], record?: { spec: object }) => {
    const caches = { get: () => ({ get: () => record }) } as unknown as Parameters<
      typeof principalStatusOf
    >[1]['caches']
    return principalStatusOf({ identityProvider }, { client, caches, users }).endOf(randomUUID(), 'User')
  }

  it('returns no end for a principal without a record if the provider is external', async () => {
    expect(await endOf('external')).to.equal(undefined)
  })

  it('returns the end in the record if the provider is external', async () => {
    expect(await endOf('external', { spec: { isEnabled: false } })).to.equal('disabled')
    expect(await endOf('external', { spec: {} })).to.equal(undefined)
  })

  it('returns deleted for a principal without a record if the provider is keycloak', async () => {
    expect(await endOf('keycloak')).to.equal('deleted')
  })
})
