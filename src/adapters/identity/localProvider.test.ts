import { expect } from 'chai'
import { identityContract } from '../../../test/suites/identityContract.ts'
import { PlatformUser } from '../../crds/identity.ts'
import { SsoConnection } from '../../crds/sso.ts'
import { hashPassword, kubeUserStore, secretPasswords, secretStateStore } from '../../identity/index.ts'
import { secret } from '../../kube/builtin.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import type { KubeObject } from '../../kube/object.ts'
import { parsePasswordPolicy } from './keycloak.ts'
import { createLocalProvider } from './localProvider.ts'
import { satisfiesPasswordRules } from './passwordRules.ts'

const RULES = {
  minLength: 12,
  maxLength: 128,
  minDigits: 1,
  minLowerCase: 1,
  minUpperCase: 1,
  minSpecialChars: 1,
  allowEmail: false,
}

describe('createLocalProvider', () => {
  const kube = new FakeKubeClient()
  const state = secretStateStore(kube)
  const provider = createLocalProvider({
    client: kube,
    resources: {
      user: PlatformUser.resource,
      secret,
      connection: SsoConnection.resource,
    },
    rules: RULES,
    hash: async (password) => JSON.stringify(await hashPassword(password)),
    endSessions: (userId) => state.removeOf(userId),
  })
  const users = kubeUserStore(
    kube,
    async () => (await kube.list<PlatformUser & KubeObject>(PlatformUser.resource)).items,
  )
  // Reads through the stores of the identity provider: what the port writes, they must understand.
  identityContract(() => ({
    provider,
    async takesPassword(userName, password) {
      const user = await users.findByLogin(userName)
      return user?.isEnabled === true && (await secretPasswords(kube).verify(user.id, password))
    },
    async record(tenant) {
      const metadata = { namespace: 'freehold-system', name: tenant.tenantId }
      if ('isGone' in tenant) return void (await kube.remove(SsoConnection.resource, metadata))
      const { apiVersion, kind } = SsoConnection
      const domains = tenant.domains.map((domain) => ({ domain, status: 'Verified' as const }))
      const spec = { domains: tenant.domains, identityProviders: tenant.providers }
      kube.seed(SsoConnection.resource, { apiVersion, kind, metadata, spec, status: { domains } } as KubeObject)
    },
  }))

  it('searches users by user name, full name and display name', async () => {
    const { apiVersion, kind } = PlatformUser
    const name = '6f0e6f0a-6a43-4a53-9d2b-1f3a7c0f9e11'
    const spec = { userName: 'ada1815', firstName: 'Ada', lastName: 'Lovelace', displayName: 'The Countess' }
    kube.seed(PlatformUser.resource, {
      apiVersion,
      kind,
      metadata: { namespace: 'freehold-system', name },
      spec,
    } as KubeObject)
    for (const search of ['ada1815', 'ada lovelace', 'COUNTESS'])
      expect((await provider.users.list({ search, limit: 10 })).map(({ id }) => id)).to.deep.equal([name])
    expect(await provider.users.find(name)).to.include(spec)
  })

  it("ends a user's sessions when it sets a new password", async () => {
    const made = await provider.users.create({ userName: 'x', emailVerified: false, password: 'Correct-horse-42' })
    await state.write({ name: 'identity-session-x', entries: {}, expiresAt: 2_000_000_000, userId: made.id })
    await provider.users.setPassword(made.id, 'Another-horse-43')
    expect(await state.read('identity-session-x')).to.equal(undefined)
  })
})

describe('password rules', () => {
  const ada = { userName: 'ada', email: 'Ada.Lovelace-1815@example.com' }
  for (const [password, isKept, why] of [
    ['Correct-horse-42', true, 'has all classes of characters'],
    ['Correct-ho-4', true, 'has exactly the minimum length'],
    ['Correct-h-4', false, 'is one character too short'],
    [`Aa-1${'x'.repeat(125)}`, false, 'is one character too long'],
    ['Correct-horse-x', false, 'has no digit'],
    ['CORRECT-HORSE-4', false, 'has no lower-case letter'],
    ['correct-horse-4', false, 'has no upper-case letter'],
    ['Correcthorse42', false, 'has only letters and digits'],
    ['ada.LOVELACE-1815@example.com', false, 'is the email address'],
    ['Größe-straße-4', true, 'has non-ASCII letters'],
  ] as const) {
    it(`${isKept ? 'accept' : 'reject'} a password that ${why}`, () => {
      expect(satisfiesPasswordRules(password, RULES, ada)).to.equal(isKept)
    })
  }

  it("parsePasswordPolicy reads Keycloak's format", () => {
    expect(
      parsePasswordPolicy('length(12) and maxLength(64) and digits(2) and specialChars(1) and notEmail(undefined)'),
    ).to.include({
      minLength: 12,
      maxLength: 64,
      minDigits: 2,
      minSpecialChars: 1,
      minUpperCase: 0,
      allowEmail: false,
    })
    expect(parsePasswordPolicy('')).to.include({ minLength: 0, allowEmail: true })
  })
})
