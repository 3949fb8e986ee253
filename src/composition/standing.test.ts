import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type { Configuration } from '../config.ts'
import { FakeKubeClient } from '../kube/fake.ts'
import { standingOf } from './standing.ts'

describe('the standing of a principal with an identity provider', () => {
  const client = new FakeKubeClient()
  const users = { find: async () => undefined } as unknown as Parameters<typeof standingOf>[1]['users']
  const endOf = (identityProvider: Configuration['identityProvider'], record?: { spec: object }) => {
    const caches = { get: () => ({ get: () => record }) } as unknown as Parameters<typeof standingOf>[1]['caches']
    return standingOf({ identityProvider }, { client, caches, users }).endOf(randomUUID(), 'User')
  }

  it('is good without a record where only the issuer knows people', async () => {
    expect(await endOf('external')).to.equal(undefined)
  })

  it('has ended there by a record that says so', async () => {
    expect(await endOf('external', { spec: { isEnabled: false } })).to.equal('disabled')
    expect(await endOf('external', { spec: {} })).to.equal(undefined)
  })

  it('has ended without one where Keycloak is administered', async () => {
    expect(await endOf('keycloak')).to.equal('deleted')
  })
})
