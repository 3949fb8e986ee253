import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { type FederatedTenant, IdentityProviderError } from '../../src/adapters/identity/port.ts'
import type { IdentityAdministration } from '../../src/adapters/identity/provider.ts'

/** What a test can observe of an identity provider from outside. */
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
    it('are found as they were made, by id and by address in whatever case', async () => {
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

    it('are not there when nobody made them', async () => {
      const { users } = open().provider
      expect(await users.find(randomUUID())).to.equal(undefined)
      expect(await users.findByEmail(`${randomUUID()}@example.com`)).to.equal(undefined)
      expect(await users.list({ search: randomUUID(), limit: 10 })).to.deep.equal([])
    })

    it('are no more than asked for', async () => {
      const { users } = open().provider
      for (let made = 0; made < 2; made += 1) await users.create(somebody())
      expect(await users.list({ limit: 1 })).to.have.length(1)
    })

    it('have the id that was chosen for them, and nobody else gets it', async () => {
      const { users } = open().provider
      const [id, person] = [randomUUID(), somebody()]
      const made = await users.create({ ...person, id })
      expect(made).to.include({ ...person, id, isEnabled: true })
      expect(await users.find(id)).to.deep.equal(made)
      expect(await reasonOf(users.create({ ...somebody(), id }))).to.equal('NameTaken')
      expect(await reasonOf(users.create({ ...person, id: randomUUID() }))).to.equal('NameTaken')
    })

    it('have a password of this provider from when it was set', async () => {
      const { provider, takesPassword } = open()
      const made = await provider.users.create({ ...somebody(), id: randomUUID() })
      expect(await provider.users.hasLocalPassword(made.id)).to.equal(false)
      await provider.users.setPassword(made.id, GOOD)
      expect(await provider.users.hasLocalPassword(made.id)).to.equal(true)
      expect(await takesPassword(made.userName, GOOD)).to.equal(true)
      expect(await provider.users.hasLocalPassword(randomUUID())).to.equal(false)
    })

    it('join tenants and leave them, as often as one likes', async () => {
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

    it('share neither a user name nor an address', async () => {
      const { users } = open().provider
      const person = somebody()
      await users.create(person)
      expect(await reasonOf(users.create({ ...somebody(), userName: person.userName }))).to.equal('NameTaken')
      expect(await reasonOf(users.create({ ...somebody(), email: person.email }))).to.equal('NameTaken')
    })

    it('change in what is named, and in nothing else', async () => {
      const { users } = open().provider
      const made = await users.create(somebody())
      const changed = await users.update(made.id, { firstName: 'Grace', emailVerified: false })
      expect(changed).to.deep.equal({ ...made, firstName: 'Grace', emailVerified: false })
      expect(await users.find(made.id)).to.deep.equal(changed)
      expect(await reasonOf(users.update(randomUUID(), { firstName: 'x' }))).to.equal('NotFound')
    })

    it('sign in with the password that was set last, and with no other', async () => {
      const { provider, takesPassword } = open()
      const made = await provider.users.create({ ...somebody(), password: GOOD })
      expect(await takesPassword(made.userName, GOOD)).to.equal(true)
      await provider.users.setPassword(made.id, OTHER)
      expect(await takesPassword(made.userName, GOOD)).to.equal(false)
      expect(await takesPassword(made.userName, OTHER)).to.equal(true)
      expect(await reasonOf(provider.users.setPassword(randomUUID(), GOOD))).to.equal('NotFound')
    })

    it('get no password that breaks the rules', async () => {
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

    it('cannot sign in while disabled', async () => {
      const { provider, takesPassword } = open()
      const made = await provider.users.create({ ...somebody(), password: GOOD })
      expect((await provider.users.update(made.id, { isEnabled: false })).isEnabled).to.equal(false)
      expect(await takesPassword(made.userName, GOOD)).to.equal(false)
      await provider.users.update(made.id, { isEnabled: true })
      expect(await takesPassword(made.userName, GOOD)).to.equal(true)
    })

    it('are gone when deleted, as often as one likes', async () => {
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

    it('are known as they were applied last, however often', async () => {
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

    it('have an alias that other tenants may use too', async () => {
      const [one, two] = [tenant(), tenant()]
      await apply(one)
      await apply(two)
      expect((await open().provider.federation.find(one.tenantId))?.providers).to.deep.equal([shown(acme)])
      expect((await open().provider.federation.find(two.tenantId))?.providers).to.deep.equal([shown(acme)])
    })

    it('are gone with the tenant, as often as one likes, and its people stay', async () => {
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

    it('that speak what the provider does not are refused', async () => {
      const { provider } = open()
      const saml = { ...acme, protocol: 'Saml' as const, signingCertificate: 'MIIB' }
      const wanted = tenant({ providers: [saml] })
      const isSpoken = provider.federation.protocols.includes('Saml')
      expect(await reasonOf(provider.federation.apply(wanted))).to.equal(isSpoken ? undefined : 'Unsupported')
      expect(provider.federation.protocols).to.include('Oidc')
    })
  })

  it('ends with the signal of its caller', async () => {
    const gone = new Error('the caller is gone')
    const thrown = await open()
      .provider.users.find(randomUUID(), AbortSignal.abort(gone))
      .catch((error: unknown) => error)
    expect(thrown).to.equal(gone)
  })
}
