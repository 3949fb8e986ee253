import { domainOf } from '../contracts/sso.ts'
import { isAddress } from '../core/address.ts'
import { uuidV5 } from '../core/ids.ts'
import { MANAGED_BY, MANAGED_BY_LABEL } from '../core/labels.ts'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import { shownName } from '../core/shownText.ts'
import { PlatformUser } from '../crds/identity.ts'
import type { IdpBinding } from '../crds/sso.ts'
import type { KubeClient } from '../kube/client.ts'
import { ignoreKubeAlreadyExists } from '../kube/errors.ts'
import type { KubeObject } from '../kube/object.ts'
import type { ExternalProvider } from './connections.ts'

/** Why a person who signed in at an external provider is not admitted. The message is for that person. */
export class ProvisioningRefused extends Error {}

/** Admits people who signed in at a tenant's identity provider. */
export interface UserProvisioner {
  /** Returns the id of the person's account, which is created at the first sign-in. @throws ProvisioningRefused */
  provision(provider: ExternalProvider, claims: Readonly<Record<string, unknown>>): Promise<string>
}

type UserObject = PlatformUser & KubeObject
type Spec = UserObject['spec']
export type UserProvisionerOptions = {
  client: Pick<KubeClient, 'list' | 'create' | 'mergePatch'>
  /** From a cache if available. */
  bindings: () => Promise<readonly (IdpBinding & KubeObject)[]>
  /** Runs the work in turn with a deletion of the tenant; undefined if the tenant no longer exists. */
  inTenant: <Result>(tenantId: string, work: () => Promise<Result>) => Promise<Result | undefined>
}

const VALUES_MAX = 200
const VALUE_LENGTH_MAX = 256
const CLAIMS_MAX = 20

export function kubeUserProvisioner({ client, bindings, inTenant }: UserProvisionerOptions): UserProvisioner {
  async function joining<Result>(tenantId: string, work: () => Promise<Result>): Promise<Result> {
    const result = await inTenant(tenantId, work)
    if (result !== undefined) return result
    throw new ProvisioningRefused('Your organization is no longer known here. Ask an administrator.')
  }
  return {
    async provision(provider, claims) {
      const claimNames = (await bindings())
        .filter(({ spec }) => spec.issuer === provider.issuer && spec.tenantId === provider.tenantId)
        .map(({ spec }) => spec.claim)
      const wanted = userSpecOf(provider, claims, claimNames)
      // Read from the API server, because another replica may have just created the account.
      const { items } = await client.list<UserObject>(PlatformUser.resource, { namespace: SYSTEM_NAMESPACE })
      const account = accountFor(items, wanted, provider)
      if (account === undefined) return joining(provider.tenantId, () => create(wanted))
      if (!account.spec.isEnabled) throw new ProvisioningRefused('This account is disabled. Ask an administrator.')
      const enter = () => update(account, wanted)
      return (account.spec.tenantIds ?? []).includes(provider.tenantId) ? enter() : joining(provider.tenantId, enter)
    },
  }

  async function create(spec: Spec): Promise<string> {
    const { tenantId, issuer, subject } = spec.externalIdentity ?? { tenantId: '', issuer: '', subject: '' }
    // A deterministic name, so that simultaneous sign-ins on two replicas create one account.
    const name = uuidV5(['external', tenantId, issuer, subject].join(' '))
    const { apiVersion, kind, resource } = PlatformUser
    const metadata = { namespace: SYSTEM_NAMESPACE, name, labels: { [MANAGED_BY_LABEL]: MANAGED_BY } }
    await client.create(resource, { apiVersion, kind, metadata, spec } as KubeObject).catch(ignoreKubeAlreadyExists)
    return name
  }

  async function update({ metadata, spec }: UserObject, wanted: Spec): Promise<string> {
    const { tenantIds: _joined, userName: _kept, ...next } = wanted
    const tenantIds = [...new Set([...(spec.tenantIds ?? []), ...wanted.tenantIds])]
    const changed = { ...next, tenantIds }
    const { namespace, name, uid } = metadata
    if (JSON.stringify({ ...spec, ...changed }) === JSON.stringify(spec)) return name
    // A merge patch keeps keys that it does not mention, so claims that the issuer no longer sends are set to null.
    const removedClaims = Object.keys(spec.externalIdentity?.claims ?? {}).filter(
      (claim) => !Object.hasOwn(next.externalIdentity?.claims ?? {}, claim),
    )
    const claims = {
      ...Object.fromEntries(removedClaims.map((claim) => [claim, null])),
      ...next.externalIdentity?.claims,
    }
    const patch = { spec: { ...changed, externalIdentity: { ...next.externalIdentity, claims } } }
    await client.mergePatch(PlatformUser.resource, { namespace, name }, patch, { uid })
    return name
  }
}

/** @throws ProvisioningRefused if the e-mail address is not in a domain of the provider's tenant */
export function userSpecOf(
  provider: ExternalProvider,
  claims: Readonly<Record<string, unknown>>,
  claimNames: readonly string[],
): Spec {
  const { tenantId, alias, issuer, emailClaim, trustEmail, domains } = provider
  const { sub: subject } = claims
  const email = claims[emailClaim]
  if (typeof subject !== 'string' || subject === '' || subject.length > 255) {
    throw new ProvisioningRefused('Your organization did not say who you are.')
  }
  if (typeof email !== 'string' || !isAddress(email) || !domains.includes(domainOf(email) ?? '')) {
    throw new ProvisioningRefused('Your organization did not send an e-mail address in one of its domains.')
  }
  const firstName = parseName(claims.given_name)
  const lastName = parseName(claims.family_name)
  return {
    userName: email.slice(0, 128),
    email,
    emailVerified: trustEmail && !isUnverified(claims, emailClaim),
    ...(firstName === undefined ? {} : { firstName }),
    ...(lastName === undefined ? {} : { lastName }),
    isEnabled: true,
    isExternal: true,
    tenantIds: [tenantId],
    externalIdentity: { tenantId, alias, issuer, subject, claims: selectClaims(claims, claimNames) },
  }
}

/** OpenID Connect Core 5.1 defines it for the claim `email` only. Some providers send a string. */
const isUnverified = ({ email_verified: isVerified }: Readonly<Record<string, unknown>>, emailClaim: string) =>
  emailClaim === 'email' && (isVerified === false || isVerified === 'false')

const parseName = (claim: unknown) => (typeof claim === 'string' ? shownName(claim, 64) : undefined)

function selectClaims(
  claims: Readonly<Record<string, unknown>>,
  claimNames: readonly string[],
): Record<string, string[]> {
  const found = [...new Set(claimNames)].slice(0, CLAIMS_MAX).flatMap((name): [string, string[]][] => {
    const value = Object.hasOwn(claims, name) ? claims[name] : undefined
    const values = (Array.isArray(value) ? value : [value]).filter(
      (one): one is string => typeof one === 'string' && one.length <= VALUE_LENGTH_MAX,
    )
    return values.length === 0 ? [] : [[name, values.slice(0, VALUES_MAX)]]
  })
  return Object.fromEntries(found)
}

/**
 * Returns the account of a person who signs in: the one with this external identity, or else one with the same address.
 * The latter only if the address is verified and the account already belongs to the tenant: otherwise a tenant could
 * take over anybody's account.
 * @throws ProvisioningRefused if another account has the address
 */
export function accountFor(
  users: readonly UserObject[],
  wanted: Spec,
  { tenantId, issuer }: Pick<ExternalProvider, 'tenantId' | 'issuer'>,
): UserObject | undefined {
  const subject = wanted.externalIdentity?.subject
  const isSame = ({ spec: { externalIdentity: one } }: UserObject) =>
    one?.tenantId === tenantId && one.issuer === issuer && one.subject === subject
  const normalize = (text: string | undefined) => text?.trim().toLowerCase()
  const address = normalize(wanted.email)
  const linked = users.find(isSame)
  const sameAddress = users.find(
    (user) => user !== linked && [normalize(user.spec.email), normalize(user.spec.userName)].includes(address),
  )
  if (sameAddress === undefined) return linked
  const isLinkable =
    (sameAddress.spec.tenantIds ?? []).includes(tenantId) && sameAddress.spec.externalIdentity === undefined
  if (linked === undefined && wanted.emailVerified && isLinkable) return sameAddress
  throw new ProvisioningRefused('There is another account with your e-mail address. Ask an administrator.')
}
