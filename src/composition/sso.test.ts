import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { Authority } from '../../scripts/controlplane/pki.ts'
import { readConfiguration } from '../config.ts'
import { ssoServices } from './sso.ts'

describe('ssoServices', () => {
  it('reads metadata from a private host with a certificate of the configured authority', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'freehold-sso-'))
    const authority = await Authority.open(folder, 'ca')
    const { certPem: cert, keyPem: key } = await authority.issue({
      commonName: 's',
      purpose: 'server',
      names: ['127.0.0.1'],
    })
    const server = createServer({ cert, key }, (_request, response) => response.end('metadata'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    const configuration = readConfiguration({
      PLATFORM_ISSUER: 'https://login.example.com/realms/freehold',
      PLATFORM_OUTGOING_HOSTS: host,
      PLATFORM_OUTGOING_CERTIFICATE_AUTHORITY: join(folder, 'ca.crt'),
    })
    const { outgoing } = ssoServices(configuration, {} as never, {} as never)
    try {
      expect(await outgoing.document(`https://${host}/`)).to.equal('metadata')
    } finally {
      await outgoing.close()
      server.closeAllConnections()
      server.close()
      await rm(folder, { recursive: true })
    }
  })
})
