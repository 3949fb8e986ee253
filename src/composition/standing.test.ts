import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type { Configuration } from '../config.ts'
import { CacheSet } from '../kube/caches.ts'
import { FakeKubeClient } from '../kube/fake.ts'
import { standingOf } from './standing.ts'

describe('the standing of somebody of whom nothing is known here', () => {
  const client = new FakeKubeClient()
  const users = { find: async () => undefined } as unknown as Parameters<typeof standingOf>[1]['users']
  const endOf = (identityProvider: Configuration['identityProvider']) =>
    standingOf({ identityProvider }, { client, caches: new CacheSet({ client }), users })?.endOf(randomUUID(), 'User')

  it('is good where only the issuer knows people', async () => {
    expect(await endOf('external')).to.equal(undefined)
  })

  it('has ended where Keycloak is administered and has no such person', async () => {
    expect(await endOf('keycloak')).to.equal('deleted')
  })
})
