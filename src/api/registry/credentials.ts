import type { Credential } from '../../adapters/registry/port.ts'
import { parseRepository, type RepositoryName } from '../../contracts/registry/names.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { groupNamespace, isUuid } from '../../core/names.ts'
import { parseScope } from '../../core/scope.ts'
import type { AnyKind } from '../../crds/define.ts'
import { RESOURCE_KINDS } from '../../crds/index.ts'
import { holdsNow } from '../callers/holdsNow.ts'
import { boundaryScope, groupScope } from '../callers/visibility.ts'
import type { Context, Services } from '../http/context.ts'
import type { ReadOptions, RecordOf } from '../records/records.ts'
import { objectAt } from '../rules/grants.ts'
import { type RegistryCaller, registryOf } from './service.ts'

/** The user name of a person who logs in with an access token. */
export const TOKEN_USER = 'token'

/** The authenticated client. Only its rights and its rate limit count. */
export type AuthenticatedClient = Omit<Credential, 'kind' | 'expiresAt'> & Pick<RegistryCaller, 'expiresAt'>

/**
 * Authenticates a user name and password: a service account with its secret, a person with an access token, or a
 * credential issued here. Returns undefined if they are invalid.
 */
export async function authenticateClient(
  { services, address }: Pick<Context, 'services' | 'address'>,
  user: string,
  password: string,
): Promise<AuthenticatedClient | undefined> {
  const { signIn } = registryOf(services)
  if (user === TOKEN_USER) return signIn.byToken(password)
  if (isUuid(user)) return signIn.byClient(user, password, address ?? '')
  return authenticateCredential(services, password, ['Boundary', 'Build'])
}

/** Authenticates a credential issued here, if its principal still exists and its scopes have not been recreated. */
export async function authenticateCredential(
  services: Services,
  text: string,
  kinds: readonly Credential['kind'][],
): Promise<AuthenticatedClient | undefined> {
  const { keys, signIn } = registryOf(services)
  const credential = await keys.read(text, services.clock.now())
  if (credential === undefined || !kinds.includes(credential.kind)) return undefined
  const { principalId, principalType, principalUid, secretDigest, lives = {} } = credential
  for (const [place, incarnation] of Object.entries(lives))
    if (!(await isSame(services, principalId, place, incarnation))) return undefined
  if (principalType === 'Platform') return credential
  const isValid = await signIn.stands({ principalId, principalType, principalUid, secretDigest })
  return isValid ? credential : undefined
}

async function isSame(services: Services, principalId: string, place: string, incarnation: string): Promise<boolean> {
  const resource = parseRepository(place)
  if (resource === undefined)
    return (await findIncarnation(services, principalId, place, (found) => found === incarnation)) === incarnation
  for (const fresh of [false, true])
    if ((await resourceAt(services, resource, { fresh }))?.metadata.uid === incarnation) return true
  return false
}

/** Returns the resource that a repository belongs to. */
export async function resourceAt(
  { records }: Pick<Services, 'records'>,
  { boundaryId, resourceGroup, collection, name }: RepositoryName,
  options: ReadOptions = {},
): Promise<RecordOf<AnyKind> | undefined> {
  const kind: AnyKind | undefined = RESOURCE_KINDS.find(({ segment }) => segment === collection)
  return kind && records.get(kind, { namespace: groupNamespace(boundaryId, resourceGroup), name }, options)
}

/** Returns a boundary (`<id>`) or a group (`<id>/<group>`) from the cache. */
export function boundaryOrGroupAt({ records }: Services, place: string): RecordOf<AnyKind> | undefined {
  const scope = parseScope(scopeOfPlace(place))
  return scope && objectAt(records, scope)
}

function scopeOfPlace(place: string): string {
  const [boundaryId = '', group] = place.split('/')
  return group === undefined ? boundaryScope(boundaryId) : groupScope(boundaryId, group)
}

/**
 * Returns the incarnation of a boundary or group; undefined if it does not exist. If the cached one does not fit, asks
 * the API server, because another replica may have just created it.
 */
export async function findIncarnation(
  services: Services,
  principalId: string,
  place: string,
  matches: (life: string | undefined) => boolean = (life) => life !== undefined,
): Promise<string | undefined> {
  const known = () => {
    const found = boundaryOrGroupAt(services, place)
    return found && (found.metadata.annotations?.[INCARNATION_ANNOTATION] ?? '')
  }
  await holdsNow(services.access, principalId, scopeOfPlace(place), () => matches(known()))
  return known()
}
