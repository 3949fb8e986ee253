import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { IdentityProviderError } from '../../src/adapters/identity/port.ts'
import { localAdministration } from '../../src/composition/administration.ts'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { PlatformUser } from '../../src/crds/identity.ts'
import { RoleAssignment } from '../../src/crds/rbac.ts'
import { passwordViolations } from '../../src/iam/passwordPolicy.ts'
import { firstOwner, ownerAssignment } from '../../src/identity/firstOwner.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { readIfThere, writePrivate } from '../controlplane/files.ts'
import { applyObjects } from './manifests.ts'

/** A person who can sign in with a browser. The password is the initial one: they may have changed it. */
export type FirstPerson = { userName: string; initialPassword: string }

export type FirstOwners = {
  clientId: string
  clientSecret: string
  person: FirstPerson
  /** Whether this run created the person, so that nobody has seen the password yet. */
  isPersonNew: boolean
}

/** The content of `first-owner.json` in a data folder. */
type Stored = {
  clientId: string
  clientSecret: string
  /** `isMade` is false until the person exists in the cluster: once deleted, they must not come back. */
  person?: FirstPerson & { id: string; isMade: boolean }
}

/**
 * A service account and a person with the role Owner at `/`, created once for a data folder: a second `up` finds them.
 */
export async function installFirstOwners(admin: KubeClient, folder: string): Promise<FirstOwners> {
  const path = join(folder, 'platform', 'first-owner.json')
  const text = await readIfThere(path)
  const stored: Stored =
    text === undefined
      ? { clientId: randomUUID(), clientSecret: randomBytes(32).toString('base64url') }
      : JSON.parse(text)
  const { clientId, clientSecret } = stored
  const person = stored.person ?? (await buildFirstPerson(admin))
  const write = (isMade: boolean) =>
    writePrivate(path, `${JSON.stringify({ clientId, clientSecret, person: { ...person, isMade } }, null, 2)}\n`)
  // Written first: unrecorded credentials could not be revoked.
  if (stored.person === undefined) await write(false)
  await applyMissing(admin, firstOwner({ clientId, clientSecret, displayName: 'First owner' }))
  if (!person.isMade) {
    await makePerson(admin, person)
    await write(true)
  }
  const { userName, initialPassword } = person
  return { clientId, clientSecret, person: { userName, initialPassword }, isPersonNew: !person.isMade }
}

/** An existing cluster may have an `admin` from another data folder: if two share a name, neither can sign in. */
async function buildFirstPerson(admin: KubeClient): Promise<FirstPerson & { id: string; isMade: boolean }> {
  const id = randomUUID()
  const { items } = await admin.list<PlatformUser & KubeObject>(PlatformUser.resource, { namespace: SYSTEM_NAMESPACE })
  const isTaken = items.some(({ spec }) => spec.userName.toLowerCase() === 'admin')
  const userName = isTaken ? `admin-${id.slice(0, 8)}` : 'admin'
  return { id, userName, initialPassword: newPassword(), isMade: false }
}

async function makePerson(admin: KubeClient, { id, userName, initialPassword }: FirstPerson & { id: string }) {
  const { users: directory } = localAdministration(admin)
  try {
    await directory.create({ id, userName, emailVerified: false, firstName: 'First', lastName: 'Owner' })
  } catch (error) {
    // An interrupted `up` has created it.
    if (!(error instanceof IdentityProviderError && error.reason === 'NameTaken')) throw error
  }
  await directory.setPassword(id, initialPassword)
  await applyMissing(admin, [ownerAssignment(id, 'User')])
}

/** An existing assignment stays as an earlier version wrote it: changing its reason would be refused. */
async function applyMissing(admin: KubeClient, objects: readonly KubeObject[]): Promise<void> {
  const { items } = await admin.list<KubeObject>(RoleAssignment.resource, { namespace: SYSTEM_NAMESPACE })
  const isThere = ({ kind, metadata: { name } }: KubeObject) =>
    kind === RoleAssignment.kind && items.some(({ metadata }) => metadata.name === name)
  await applyObjects(
    admin,
    objects.filter((object) => !isThere(object)),
  )
}

/** Without characters that look alike. */
const LETTERS = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789'

/** Four groups of five, 116 bits, which the platform's own rules for passwords allow. */
function newPassword(): string {
  for (;;) {
    const group = () => Array.from({ length: 5 }, () => LETTERS[randomInt(LETTERS.length)]).join('')
    const password = [group(), group(), group(), group()].join('-')
    if (passwordViolations(password, undefined).length === 0) return password
  }
}
