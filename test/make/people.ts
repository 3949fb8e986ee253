import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { decodeJwt, importJWK, type JWK, SignJWT } from 'jose'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { PlatformUser } from '../../src/crds/identity.ts'
import { parseRing, signingKeyAt } from '../../src/identity/keyRing.ts'
import { KEYS_SECRET } from '../../src/identity/keyStore.ts'
import { hashPassword, PASSWORD_ENTRY, passwordSecretName } from '../../src/identity/passwords.ts'
import { secret } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { ownerToken } from '../worlds/platform.ts'
import { administrator, testPlatform } from '../worlds/tenant.ts'
import { until } from './until.ts'

/**
 * A token like that of a person who signed in now, or so many seconds ago, signed with the platform's own key, which
 * the administrator of the cluster can read.
 */
export async function personToken(userId: string, signedInSecondsAgo = 0): Promise<string> {
  const admin = await administrator()
  try {
    const found = await admin.get<KubeObject & { data: Record<string, string> }>(secret, {
      namespace: SYSTEM_NAMESPACE,
      name: KEYS_SECRET,
    })
    const ring = parseRing(Buffer.from(found.data['keys.json'] ?? '', 'base64').toString('utf8'))
    const key = signingKeyAt(ring, Date.now())
    if (key === undefined) throw new Error('The platform has no signing key.')
    const { iss = '', aud = '' } = decodeJwt(await ownerToken())
    const now = Math.floor(Date.now() / 1000)
    return await new SignJWT({ typ: 'Bearer', azp: 'console', auth_time: now - signedInSecondsAgo, sid: randomUUID() })
      .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid: key.kid })
      .setIssuer(iss)
      .setAudience(aud)
      .setSubject(userId)
      .setIssuedAt(now)
      .setExpirationTime(now + 900)
      .sign(await importJWK(key.jwk as JWK, 'RS256'))
  } finally {
    await admin.close()
  }
}

export type TestPerson = { userId: string; userName: string; password: string; displayName: string }

/** A person who can sign in, without any role. */
export async function makePerson(admin: KubeClient): Promise<TestPerson> {
  const userId = randomUUID()
  const [userName, password] = [`person-${userId.slice(0, 8)}`, 'a long enough Passw0rd!']
  const displayName = `Person ${userId.slice(0, 8)}`
  await admin.create(secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: passwordSecretName(userId), namespace: SYSTEM_NAMESPACE },
    stringData: { [PASSWORD_ENTRY]: JSON.stringify(await hashPassword(password)) },
  } as KubeObject)
  await admin.create(PlatformUser.resource, {
    apiVersion: PlatformUser.apiVersion,
    kind: PlatformUser.kind,
    metadata: { name: userId, namespace: SYSTEM_NAMESPACE },
    spec: { userName, email: `${userName}@example.com`, emailVerified: true, displayName },
  } as KubeObject)
  return { userId, userName, password, displayName }
}

export type ReceivedMail = { to: string; subject: string; text: string }

/** @param platform the data folder of a platform of the test's own */
export function mailsTo(address: string, platform = testPlatform().folder): ReceivedMail[] {
  const folder = join(platform, 'mails')
  let names: string[] = []
  try {
    names = readdirSync(folder).filter((name) => name.endsWith('.json') && !name.startsWith('.'))
  } catch {
    // Nothing was sent yet.
  }
  const mails = names.sort().map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as ReceivedMail)
  return mails.filter(({ to }) => to === address)
}

/** The token in the newest of so many mails to the address. */
export async function tokenFromMail(address: string, count = 1, platform = testPlatform().folder): Promise<string> {
  const mail = await until(`mail ${count} to ${address}`, () => {
    const mails = mailsTo(address, platform)
    return mails.length >= count ? mails.at(-1) : undefined
  })
  const token = /\/(?:invitations|password-reset)\/([A-Za-z0-9_-]{40,})$/m.exec(mail.text)?.[1]
  if (token === undefined) throw new Error(`No link in the mail "${mail.subject}".`)
  return token
}
