import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import type { IdentityAdministration } from '../../src/adapters/identity/provider.ts'
import { browse, type Keycloak } from '../cluster/keycloak.ts'
import { ExternalIssuer } from '../worlds/externalIssuer.ts'

type Setup = { keycloak: Keycloak; provider: IdentityAdministration }

/** What a tenant's identity provider can claim about the people who sign in there, in Keycloak. */
export function tenantPeopleSuite(setup: () => Setup): void {
  describe('sign-in at the identity provider of a tenant', () => {
    let server: Server
    let acme: ExternalIssuer

    before(async () => {
      server = createServer((request, response) => {
        void answer(acme, request).then(async (reply) => {
          response.writeHead(reply.status, { 'content-type': 'application/json' }).end(await reply.text())
        })
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      acme = new ExternalIssuer(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    })
    after(() => {
      server?.closeAllConnections()
      server?.close()
    })

    /** @returns whether Keycloak let the person in */
    async function signIn(address: string, claims: Record<string, string>): Promise<boolean> {
      const { keycloak } = setup()
      const home = `${keycloak.url}/realms/${keycloak.realm}`
      const query = new URLSearchParams({
        ...{ client_id: 'account-console', redirect_uri: `${home}/account/`, response_type: 'code', scope: 'openid' },
        ...{ code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' },
      })
      const names = { given_name: 'Ada', family_name: 'Lovelace', preferred_username: claims.sub ?? '' }
      let isIn = false
      const forms = [{ username: address }]
      await browse(keycloak, `${home}/protocol/openid-connect/auth?${query}`, forms, {
        comesBack: (elsewhere) => acme.signIn(elsewhere, { ...names, ...claims }),
        arrives: (back) => {
          isIn ||= back.href.startsWith(`${home}/account/`) && back.searchParams.has('code')
        },
      })
      return isIn
    }

    for (const emailClaim of ['email', 'mail'])
      it(`accepts only addresses in the domains of the tenant, and keeps the first one (claim ${emailClaim})`, async () => {
        const { users, federation } = setup().provider
        const [domain, sub] = [`${randomUUID()}.example`, randomUUID()]
        const { issuer, clientId, clientSecret } = acme
        const addresses = { authorizationUrl: `${issuer}/auth`, tokenUrl: `${issuer}/token`, jwksUrl: `${issuer}/keys` }
        const named = { alias: 'acme', displayName: 'Acme', protocol: 'Oidc' as const, enabled: true }
        const provider = { ...named, issuer, ...addresses, clientId, clientSecret, emailClaim, trustEmail: true }
        await federation.apply({
          tenantId: randomUUID(),
          displayName: 'Acme',
          domains: [domain],
          providers: [provider],
        })
        const [own, foreign] = [`ada@${domain}`, `${randomUUID()}@other.example`]
        expect(await signIn(own, { sub: randomUUID(), [emailClaim]: foreign }), 'a stranger').to.equal(false)
        expect(await signIn(own, { sub, [emailClaim]: own })).to.equal(true)
        const first = await users.findByEmail(own)
        expect(first).to.include({ emailVerified: true, isExternal: true })
        await signIn(own, { sub, [emailClaim]: foreign })
        expect(await users.findByEmail(foreign), 'an address of somebody else').to.equal(undefined)
        expect(await users.findByEmail(own)).to.deep.equal(first)
      })
  })
}

async function answer(issuer: ExternalIssuer, request: IncomingMessage): Promise<Response> {
  let body = ''
  for await (const chunk of request) body += String(chunk)
  const { authorization } = request.headers
  const options = {
    method: request.method ?? 'GET',
    headers: authorization === undefined ? {} : { authorization },
    body,
  }
  return issuer.fetch(`${issuer.issuer}${request.url}`, options).catch(() => new Response('', { status: 404 }))
}
