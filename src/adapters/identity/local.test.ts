import { expect } from 'chai'
import { ManualClock } from '../../../test/make/clock.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { PlatformUser } from '../../crds/identity.ts'
import { secret } from '../../kube/builtin.ts'
import { CacheSet } from '../../kube/caches.ts'
import type { WriteObserver } from '../../kube/client.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import { FakeUserDirectory } from './fake.ts'
import { createLocalDirectory, passwordSecretName } from './local.ts'
import { IdentityProviderError, type UserDirectory } from './port.ts'

const PASSWORD = 'Correct-horse-7'
const anna = { userName: 'anna', email: 'Anna@Example.com', emailVerified: true, firstName: 'Anna' }
const reason = async (promise: Promise<unknown>) => {
  try {
    await promise
    return 'none'
  } catch (error) {
    return error instanceof IdentityProviderError ? error.reason : String(error)
  }
}

async function local() {
  const late: { observer?: WriteObserver } = {}
  const client = new FakeKubeClient({
    observer: {
      written: (...given) => late.observer?.written(...given),
      removed: (...given) => late.observer?.removed(...given),
    },
  })
  const caches = new CacheSet({ client })
  late.observer = caches.observer()
  caches.add(PlatformUser.resource)
  caches.start()
  await caches.whenAllSynced()
  const users = createLocalDirectory({
    client,
    users: caches.get(PlatformUser.resource),
    resources: { user: PlatformUser.resource, secret },
    clock: new ManualClock(),
  })
  return { users, client, stop: () => caches.stopAll() }
}

const directories: [string, () => Promise<{ users: UserDirectory; stop(): Promise<void> }>][] = [
  ['the local directory', local],
  ['the directory in memory', async () => ({ users: new FakeUserDirectory(), stop: async () => {} })],
]

for (const [title, open] of directories) {
  describe(`users in ${title}`, () => {
    let users: UserDirectory
    let stop: () => Promise<void>
    beforeEach(async () => {
      const opened = await open()
      users = opened.users
      stop = () => opened.stop()
    })
    afterEach(() => stop())

    it('are found by id and by address in whatever case, at once', async () => {
      const made = await users.create(anna)
      expect(made).to.include({ userName: 'anna', emailVerified: true, isEnabled: true, isExternal: false })
      expect((await users.find(made.id))?.email).to.equal(anna.email)
      expect((await users.findByEmail('aNNA@example.COM'))?.id).to.equal(made.id)
      expect(await users.findByEmail('anna@example.org')).to.equal(undefined)
      expect(await users.find('7b0c5d6e-1f2a-4b3c-8d4e-5f6a7b8c9d0e')).to.equal(undefined)
    })

    it('get the id that was asked for, and no second account of an address', async () => {
      const id = '7b0c5d6e-1f2a-4b3c-8d4e-5f6a7b8c9d0e'
      expect((await users.create({ ...anna, id })).id).to.equal(id)
      expect(await reason(users.create({ ...anna, userName: 'other' }))).to.equal('NameTaken')
    })

    it('have a password when one was set, and then that one', async () => {
      const { id } = await users.create(anna)
      expect(await users.hasLocalPassword(id)).to.equal(false)
      expect(await users.verifyPassword(id, PASSWORD)).to.equal(false)
      await users.setPassword(id, PASSWORD)
      expect(await users.hasLocalPassword(id)).to.equal(true)
      expect(await users.verifyPassword(id, PASSWORD)).to.equal(true)
      expect(await users.verifyPassword(id, `${PASSWORD}x`)).to.equal(false)
      await users.setPassword(id, 'Another-horse-8')
      expect(await users.verifyPassword(id, PASSWORD)).to.equal(false)
      expect(await users.verifyPassword(id, 'Another-horse-8')).to.equal(true)
    })

    it('are changed field by field', async () => {
      const { id } = await users.create({ ...anna, emailVerified: false })
      await users.update(id, { emailVerified: true })
      expect(await users.find(id)).to.include({ emailVerified: true, firstName: 'Anna' })
    })

    it('who are not there are told so', async () => {
      const nobody = '7b0c5d6e-1f2a-4b3c-8d4e-5f6a7b8c9d0e'
      expect(await reason(users.setPassword(nobody, PASSWORD))).to.equal('NotFound')
      expect(await reason(users.update(nobody, { isEnabled: false }))).to.equal('NotFound')
      expect(await users.hasLocalPassword(nobody)).to.equal(false)
      expect(await users.verifyPassword(nobody, PASSWORD)).to.equal(false)
      await users.delete(nobody)
    })
  })
}

describe('passwords of the local directory', () => {
  it('are kept as scrypt with its parameters, in a Secret that goes with the user', async () => {
    const { users, client, stop } = await local()
    const { id } = await users.create({ ...anna, password: PASSWORD })
    const found = await client.get<KubeObject & { data: Record<string, string> }>(secret, {
      namespace: SYSTEM_NAMESPACE,
      name: passwordSecretName(id),
    })
    expect(found.metadata.ownerReferences?.[0]).to.include({ kind: 'PlatformUser', name: id })
    const record = JSON.parse(Buffer.from(found.data['password.json'] ?? '', 'base64').toString())
    expect(record).to.include({ algorithm: 'scrypt', cost: 32768, blockSize: 8, parallelization: 1 })
    expect(JSON.stringify(record)).to.not.contain(PASSWORD)
    await stop()
  })

  it('of a disabled user are wrong', async () => {
    const { users, stop } = await local()
    const { id } = await users.create({ ...anna, password: PASSWORD })
    await users.update(id, { isEnabled: false })
    expect(await users.verifyPassword(id, PASSWORD)).to.equal(false)
    await stop()
  })

  it('are the same however an accent was typed', async () => {
    const { users, stop } = await local()
    const { id } = await users.create({ ...anna, password: 'Gr\u00f6\u00dfe-1234567' })
    expect(await users.verifyPassword(id, 'Gro\u0308\u00dfe-1234567')).to.equal(true)
    await stop()
  })
})
