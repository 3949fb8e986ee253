import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { Authority } from '../../../scripts/controlplane/pki.ts'
import { keycloakAdmin } from './keycloakAdmin.ts'

describe('keycloakAdmin', () => {
  it('accepts a certificate of the configured authority and rejects one of an unknown authority', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'freehold-keycloak-admin-'))
    const authority = await Authority.open(folder, 'ca')
    const issued = await authority.issue({ commonName: 's', purpose: 'server', names: ['127.0.0.1'] })
    const server = createServer({ cert: issued.certPem, key: issued.keyPem }, (_request, response) => {
      response.setHeader('connection', 'close').end('{"access_token":"t","expires_in":60}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    const options = { url, realm: 'r', clientId: 'c', clientSecret: () => 's' }
    const refusal = (error: Error) => error.message
    try {
      const known = keycloakAdmin({ ...options, certificateAuthority: () => authority.certPem })
      expect((await known.call('GET', '/users')).status).to.equal(200)
      expect(await keycloakAdmin(options).call('GET', '/users').catch(refusal)).to.equal(
        'Keycloak cannot be used: its certificate is not valid for its address, or not signed by an authority that the platform trusts.',
      )
    } finally {
      server.closeAllConnections()
      server.close()
      await rm(folder, { recursive: true })
    }
  })
})
