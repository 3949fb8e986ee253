import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { type FederatedTenant, IdentityProviderError } from '../../src/adapters/identity/port.ts'
import type { IdentityAdministration } from '../../src/adapters/identity/provider.ts'

/** An identity provider, with access to what it shows to others. */
export type ProviderUnderTest = {
  provider: IdentityAdministration
  /** Whether the person could sign in with it. */
  takesPassword(userName: string, password: string): Promise<boolean>
  /**
   * The single sign-on settings that the provider reads otherwise than by `apply`: the record, if records are its
   * source.
   */
  record(tenant: FederatedTenant | { tenantId: string; isGone: true }): Promise<void>
}

const GOOD = 'Correct-horse-42-battery'
const OTHER = 'Another-horse-43-staple'

/** The contract of every identity provider. Its passwords need 12 characters, including a digit. */
export function identityContract(open: () => ProviderUnderTest): void {
  const reasonOf = async (promise: Promise<unknown>) => {
    const error = await promise.then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    return error instanceof IdentityProviderError ? error.reason : error
  }
  const somebody = () => {
    const name = `person-${randomUUID().slice(0, 8)}`
    return { userName: name, email: `${name}@example.com`, emailVerified: true, firstName: 'Ada', lastName: 'Lovelace' }
  }

  describe('people', () => {
    it('finds a person by id, by address in any case, and by search', async () => {
      const { users } = open().provider
      const person = somebody()
      const made = await users.create(person)
      expect(made).to.include({ ...person, isEnabled: true, isExternal: false })
      expect(made.id).to.match(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
      expect(Date.now() - made.createdAt).to.be.below(60_000)
      expect(await users.find(made.id)).to.deep.equal(made)
      expect((await users.findByEmail(person.email.toUpperCase()))?.id).to.equal(made.id)
      for (const search of [person.userName, person.userName.slice(3), person.email.slice(2, -4)])
        expect(
          (await users.list({ search, limit: 10 })).map(({ id }) => id),
          search,
        ).to.deep.equal([made.id])
    })

    it('finds no unknown person', async () => {
      const { users } = open().provider
      expect(await users.find(randomUUID())).to.equal(undefined)
      expect(await users.findByEmail(`${randomUUID()}@example.com`)).to.equal(undefined)
      expect(await users.list({ search: randomUUID(), limit: 10 })).to.deep.equal([])
    })

    it('lists at most as many as requested', async () => {
      const { users } = open().provider
      for (let made = 0; made < 2; made += 1) await users.create(somebody())
      expect(await users.list({ limit: 1 })).to.have.length(1)
    })

    it('creates a person with a given id, and refuses to use the id again', async () => {
      const { users } = open().provider
      const [id, person] = [randomUUID(), somebody()]
      const made = await users.create({ ...person, id })
      expect(made).to.include({ ...person, id, isEnabled: true })
      expect(await users.find(id)).to.deep.equal(made)
      expect(await reasonOf(users.create({ ...somebody(), id }))).to.equal('NameTaken')
      expect(await reasonOf(users.create({ ...person, id: randomUUID() }))).to.equal('NameTaken')
    })

    it('reports a local password once it is set', async () => {
      const { provider, takesPassword } = open()
      const made = await provider.users.create({ ...somebody(), id: randomUUID() })
      expect(await provider.users.hasLocalPassword(made.id)).to.equal(false)
      await provider.users.setPassword(made.id, GOOD)
      expect(await provider.users.hasLocalPassword(made.id)).to.equal(true)
      expect(await takesPassword(made.userName, GOOD)).to.equal(true)
      expect(await provider.users.hasLocalPassword(randomUUID())).to.equal(false)
    })

    it('adds a person to tenants and removes it, idempotently', async () => {
      const { users } = open().provider
      const { id } = await users.create(somebody())
      const tenants = [randomUUID(), randomUUID()]
      for (const tenant of [...tenants, ...tenants]) await users.joinTenant(id, tenant)
      expect((await users.find(id))?.tenantIds).to.have.members(tenants)
      const listed = (await users.list({ limit: 10_000 })).find((user) => user.id === id)
      expect(listed?.tenantIds).to.have.members(tenants)
      const nobodys = randomUUID()
      const counts = await users.countIn([...tenants, nobodys])
      expect([...tenants, nobodys].map((tenant) => counts.get(tenant))).to.deep.equal([1, 1, 0])
      for (let time = 0; time < 2; time += 1) await users.leaveTenant(id, tenants[0] ?? '')
      expect((await users.find(id))?.tenantIds).to.deep.equal([tenants[1]])
      await users.leaveTenant(randomUUID(), tenants[1] ?? '')
      expect(await reasonOf(users.joinTenant(randomUUID(), tenants[1] ?? ''))).to.equal('NotFound')
    })

    it('refuses a user name or address in use', async () => {
      const { users } = open().provider
      const person = somebody()
      await users.create(person)
      expect(await reasonOf(users.create({ ...somebody(), userName: person.userName }))).to.equal('NameTaken')
      expect(await reasonOf(users.create({ ...somebody(), email: person.email }))).to.equal('NameTaken')
    })

    it('updates only the named fields', async () => {
      const { users } = open().provider
      const made = await users.create(somebody())
      const changed = await users.update(made.id, { firstName: 'Grace', emailVerified: false })
      expect(changed).to.deep.equal({ ...made, firstName: 'Grace', emailVerified: false })
      expect(await users.find(made.id)).to.deep.equal(changed)
      expect(await reasonOf(users.update(randomUUID(), { firstName: 'x' }))).to.equal('NotFound')
    })

    it('accepts only the password that was set last', async () => {
      const { provider, takesPassword } = open()
      const made = await provider.users.create({ ...somebody(), password: GOOD })
      expect(await takesPassword(made.userName, GOOD)).to.equal(true)
      await provider.users.setPassword(made.id, OTHER)
      expect(await takesPassword(made.userName, GOOD)).to.equal(false)
      expect(await takesPassword(made.userName, OTHER)).to.equal(true)
      expect(await reasonOf(provider.users.setPassword(randomUUID(), GOOD))).to.equal('NotFound')
    })

    it('refuses passwords that break the rules', async () => {
      const { provider, takesPassword } = open()
      const rules = await provider.passwordRules()
      expect(rules).to.include({ minLength: 12, minDigits: 1 })
      const made = await provider.users.create({ ...somebody(), password: GOOD })
      for (const bad of ['short-1', 'no digit in this one']) {
        expect(await reasonOf(provider.users.setPassword(made.id, bad)), bad).to.equal('PasswordRefused')
      }
      expect(await reasonOf(provider.users.create({ ...somebody(), password: 'short-1' }))).to.equal('PasswordRefused')
      expect(await takesPassword(made.userName, GOOD), 'the old one stays').to.equal(true)
    })

    it('refuses the password of a disabled person', async () => {
      const { provider, takesPassword } = open()
      const made = await provider.users.create({ ...somebody(), password: GOOD })
      expect((await provider.users.update(made.id, { isEnabled: false })).isEnabled).to.equal(false)
      expect(await takesPassword(made.userName, GOOD)).to.equal(false)
      await provider.users.update(made.id, { isEnabled: true })
      expect(await takesPassword(made.userName, GOOD)).to.equal(true)
    })

    it('deletes a person, idempotently', async () => {
      const { provider, takesPassword } = open()
      const made = await provider.users.create({ ...somebody(), password: GOOD })
      await provider.users.signOut(made.id)
      for (let time = 0; time < 2; time += 1) await provider.users.delete(made.id)
      await provider.users.signOut(made.id)
      expect(await provider.users.find(made.id)).to.equal(undefined)
      expect(await takesPassword(made.userName, GOOD)).to.equal(false)
    })
  })

  describe('identity providers of tenants', () => {
    const acme = {
      alias: 'acme',
      displayName: 'Acme',
      protocol: 'Oidc' as const,
      issuer: 'https://login.acme.example',
      authorizationUrl: 'https://login.acme.example/auth',
      tokenUrl: 'https://login.acme.example/token',
      jwksUrl: 'https://login.acme.example/keys',
      clientId: 'freehold',
      clientSecret: 'a secret of acme',
      emailClaim: 'email',
      trustEmail: false,
      enabled: true,
    }
    const tenant = (change: Partial<FederatedTenant> = {}): FederatedTenant => ({
      tenantId: randomUUID(),
      displayName: 'Acme',
      domains: [`${randomUUID()}.example`],
      providers: [acme],
      ...change,
    })
    async function apply(wanted: FederatedTenant) {
      const { provider, record } = open()
      await record(wanted)
      await provider.federation.apply(wanted)
      return provider.federation.find(wanted.tenantId)
    }
    const shown = ({ alias, displayName, protocol, enabled }: typeof acme) => ({
      alias,
      displayName,
      protocol,
      enabled,
    })

    it('replaces domains and providers, idempotently', async () => {
      const wanted = tenant()
      for (let time = 0; time < 2; time += 1) {
        expect(await apply(wanted)).to.deep.equal({ domains: wanted.domains, providers: [shown(acme)] })
      }
      const renamed = { ...acme, displayName: 'Acme two', enabled: false, emailClaim: 'upn', clientSecret: undefined }
      const other = { ...acme, alias: 'other' }
      const domains = [...wanted.domains, `${randomUUID()}.example`]
      const changed = await apply({ ...wanted, domains, providers: [renamed as never, other] })
      expect(changed?.domains).to.have.members(domains)
      expect(changed?.providers).to.have.deep.members([shown(renamed as never), shown(other)])
      const less = await apply({ ...wanted, domains: [], providers: [other] })
      expect(less).to.deep.equal({ domains: [], providers: [shown(other)] })
    })

    it('keeps equal aliases of two tenants apart', async () => {
      const [one, two] = [tenant(), tenant()]
      await apply(one)
      await apply(two)
      expect((await open().provider.federation.find(one.tenantId))?.providers).to.deep.equal([shown(acme)])
      expect((await open().provider.federation.find(two.tenantId))?.providers).to.deep.equal([shown(acme)])
    })

    it('removes the providers of a tenant, idempotently, and keeps its people', async () => {
      const { provider, record } = open()
      const wanted = tenant()
      await apply(wanted)
      const { id } = await provider.users.create(somebody())
      await provider.users.joinTenant(id, wanted.tenantId)
      for (let time = 0; time < 2; time += 1) {
        await record({ tenantId: wanted.tenantId, isGone: true })
        await provider.federation.remove(wanted.tenantId)
      }
      expect((await provider.federation.find(wanted.tenantId))?.providers ?? []).to.deep.equal([])
      expect((await provider.users.find(id))?.tenantIds).to.deep.equal([wanted.tenantId])
      expect(await provider.federation.find(randomUUID())).to.equal(undefined)
    })

    it('refuses protocols that the provider does not support', async () => {
      const { provider } = open()
      const saml = { ...acme, protocol: 'Saml' as const, signingCertificate: 'MIIB' }
      const wanted = tenant({ providers: [saml] })
      const isSpoken = provider.federation.protocols.includes('Saml')
      expect(await reasonOf(provider.federation.apply(wanted))).to.equal(isSpoken ? undefined : 'Unsupported')
      expect(provider.federation.protocols).to.include('Oidc')
    })
  })
}
