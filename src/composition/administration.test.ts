import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { ConfigurationError, readConfiguration } from '../config.ts'
import { openAdministration } from './administration.ts'

describe('openAdministration', () => {
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-administration-'))
    await writeFile(join(folder, 'secret'), 'a secret\n')
    await writeFile(join(folder, 'empty'), '\n')
  })
  after(() => rm(folder, { recursive: true, force: true }))

  const connection = { client: {}, caches: { get: () => ({ list: () => [], get: () => undefined }) } } as never
  const open = (more: Record<string, string> = {}, issuer = 'https://login.example.com/realms/freehold') =>
    openAdministration(readConfiguration({ PLATFORM_ISSUER: issuer, ...more }), connection)
  const keycloak = (file = 'secret') => ({
    PLATFORM_IDENTITY_PROVIDER: 'keycloak',
    PLATFORM_KEYCLOAK_CLIENT_ID: 'freehold',
    PLATFORM_KEYCLOAK_CLIENT_SECRET_FILE: join(folder, file),
  })
  const refusal = (promise: Promise<unknown>) =>
    promise.then(
      () => 'none',
      (error: unknown) => (error instanceof ConfigurationError ? error.message : 'another'),
    )

  it('opens the federation protocols of the configured provider: Oidc, Oidc and Saml, or none', async () => {
    const protocolsOf = async (more?: Record<string, string>) => (await open(more)).federation.protocols
    expect(await protocolsOf({ PLATFORM_IDENTITY_PROVIDER: 'local' })).to.deep.equal(['Oidc'])
    expect(await protocolsOf(keycloak())).to.deep.equal(['Oidc', 'Saml'])
    expect(await protocolsOf()).to.deep.equal([])
  })

  it('rejects incomplete settings of Keycloak and names the setting', async () => {
    expect(await refusal(open({ PLATFORM_IDENTITY_PROVIDER: 'keycloak' }))).to.contain('keycloakClientId')
    expect(await refusal(open(keycloak('empty')))).to.contain('found nothing')
    expect(await refusal(open(keycloak(), 'https://login.example.com/'))).to.contain('keycloakUrl')
    const elsewhere = { ...keycloak(), PLATFORM_KEYCLOAK_URL: 'https://keycloak.example.com' }
    expect(await refusal(open(elsewhere, 'https://login.example.com/'))).to.equal('none')
  })
})
