import { z } from 'zod'
import { RegistryVerdict } from '../../adapters/sources/port.ts'
import { CREDENTIAL_KEYS } from '../../contracts/sources/providers.ts'
import { timestamp } from '../../core/clock.ts'
import { notFound, PlatformError } from '../../core/errors.ts'
import { groupNamespace } from '../../core/names.ts'
import { ResourceName } from '../../crds/fields.ts'
import { groupScope, resourceScope } from '../callers/visibility.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { checkedByHandler } from '../http/route.ts'
import { inVisibleBoundary } from '../resources/collection/parents.ts'
import { type GroupResource, resourcesOfGroup } from '../resources/contents.ts'
import { vetUrl } from '../resources/deployments/address.ts'
import { BUILD_ACTION, reporterNow } from '../resources/deployments/reporters.ts'
import { DateTime } from '../resources/dto.ts'
import { findGroup } from '../resources/find.ts'
import { actionOf } from '../resources/types.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { connectionOf, translateProviderErrors } from './connection.ts'
import { findSource, requireSourceNotDeleting, type SourceContext, type SourceRecord } from './record.ts'

/** Repository names of the OCI distribution specification. */
const RepositoryPath = z
  .string()
  .max(255)
  .regex(/^[a-z0-9]+([._-]+[a-z0-9]+)*(\/[a-z0-9]+([._-]+[a-z0-9]+)*)*$/, 'must be the path of a repository')

export const MaterializeRegistryRequest = strictRecord('MaterializeRegistryRequest', {
  resourceGroup: ResourceName,
  resourceName: ResourceName.nullish().describe('The resource that the secret belongs to'),
  // A prefix of its own, so that it cannot collide with the Secrets of a resource.
  secretName: ResourceName.regex(/^registry-/, 'must begin with registry-')
    .nullish()
    .describe('Default: registry- and 8 digits of the id of the source'),
  repositories: z.array(RepositoryPath).min(1).max(50).nullish().describe('Only these are pulled with it'),
})

export const MaterializedRegistryDto = namedRecord('MaterializedRegistryDto', {
  secretName: z.string(),
  namespace: z.string(),
  registry: z.string(),
  expiresAt: DateTime.nullable(),
})

export const VerifyRegistryRequest = strictRecord('VerifyRegistryRequest', {
  registryUrl: z.string().min(1).max(2048).nullish().describe('Default: the address of the source'),
  username: z.string().min(1).max(256).nullish(),
  password: z
    .string()
    .min(1)
    .max(4096)
    .nullish()
    .describe('Default: the stored one, which is sent only to its own registry, with its own user'),
  repository: RepositoryPath.nullish(),
  tag: z
    .string()
    .regex(/^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/, 'must be a tag')
    .nullish()
    .describe('latest if absent'),
})

export const RegistryVerificationDto = RegistryVerdict.extend({ checkedAt: DateTime }).meta({
  id: 'RegistryVerificationDto',
})

function requireRegistry({ spec }: SourceRecord): void {
  if (spec.provider === 'Registry') return
  throw new PlatformError('source-unknown', `"${spec.displayName}" is of type ${spec.provider}, not a registry.`)
}

/** Returns the registry as in image names, which for Docker Hub differs from its API host. */
function registryIn(baseUrl: string): string {
  const { host } = new URL(baseUrl)
  return ['registry-1.docker.io', 'index.docker.io'].includes(host) ? 'docker.io' : host
}

export const materializeAuth = checkedByHandler(
  `the action that writes the resource that the request names, or \`resourcegroups/write\` at the group if it names none; \`${BUILD_ACTION}\` there is enough`,
)

/**
 * POST .../materialize: writes the pull secret into the namespace of a group, for callers who may write the resource or
 * build for it. To others it does not exist.
 * @throws PlatformError NOT_FOUND, source-unknown, INVALID_STATE, already-exists
 */
export async function materializeRegistry(context: SourceContext<z.output<typeof MaterializeRegistryRequest>>) {
  const { services, body } = context
  const { boundaryId } = context.parameters
  const parent = await inVisibleBoundary(context as Context)
  const resource = await requireWriter(context, body)
  const source = await findSource(context, parent)
  requireRegistry(source)
  await requireSourceNotDeleting(context, source)
  refuseWhileDeleting(await findGroup(context, boundaryId, body.resourceGroup))
  if (resource !== undefined) refuseWhileDeleting(resource.object)
  const { username = '', credentials, baseUrl } = await connectionOf(services, source)
  const registry = registryIn(baseUrl)
  const account = { username, password: credentials[CREDENTIAL_KEYS.password] ?? '' }
  const addresses = body.repositories?.map((path) => `${registry}/${path}`) ?? [registry]
  const namespace = groupNamespace(boundaryId, body.resourceGroup)
  const secretName = body.secretName ?? `registry-${source.metadata.name.slice(0, 8)}`
  await services.sources.pullSecrets.write({
    namespace,
    name: secretName,
    sourceId: source.metadata.name,
    accounts: Object.fromEntries(addresses.map((address) => [address, account])),
    owner: resource === undefined ? undefined : ownerOf(resource),
  })
  return ok({ secretName, namespace, registry, expiresAt: null })
}

/** Returns the named resource if the caller may write or build for it. @throws PlatformError NOT_FOUND otherwise */
async function requireWriter(
  context: SourceContext,
  { resourceGroup, resourceName }: z.output<typeof MaterializeRegistryRequest>,
): Promise<GroupResource | undefined> {
  const { boundaryId } = context.parameters
  if (resourceName == null) {
    if (await reporterNow(context, groupScope(boundaryId, resourceGroup), 'resourcegroups/write')) return undefined
    throw notFound(`Resource group "${resourceGroup}"`)
  }
  for (const found of resourcesOfGroup(context.services, boundaryId, resourceGroup)) {
    const { kind, object } = found
    const scope = resourceScope(boundaryId, resourceGroup, kind.segment, resourceName)
    const isNamed = object.metadata.name === resourceName
    if (isNamed && (await reporterNow(context, scope, actionOf(kind, 'write')))) return found
  }
  throw notFound(`Resource "${resourceName}" in group "${resourceGroup}"`)
}

function ownerOf({ kind: { apiVersion, kind }, object: { metadata } }: GroupResource) {
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '' }
}

/**
 * POST .../verify. The stored password is only sent to the stored address, or readers of a source could have it sent to
 * their own host, and only with the stored user, or they could test whose password it is.
 * @throws PlatformError source-unknown, URL_NOT_ALLOWED, missing-credential
 */
export async function verifyRegistry(context: SourceContext<z.output<typeof VerifyRegistryRequest>>) {
  const { services, body, signal } = context
  const source = await findSource(context)
  requireRegistry(source)
  const stored = await connectionOf(services, source)
  const { registryUrl, username, password, repository, tag } = body
  if (registryUrl != null) vetUrl(registryUrl, 'registryUrl', services.sources.allowedHosts)
  const baseUrl = (registryUrl ?? stored.baseUrl).replace(/\/+$/, '')
  const isElsewhere = new URL(baseUrl).origin !== new URL(stored.baseUrl).origin
  const isOther = username != null && username !== stored.username
  if ((isElsewhere || isOther) && password == null) {
    const [subject, other] = isElsewhere ? ['address', 'registry'] : ['user', 'user']
    const message = `The stored password is only for the stored ${subject}: give one for another ${other}.`
    throw new PlatformError('missing-credential', message)
  }
  const connection = {
    ...stored,
    baseUrl,
    username: username ?? (isElsewhere ? undefined : stored.username),
    credentials: password == null ? stored.credentials : { [CREDENTIAL_KEYS.password]: password },
  }
  const image = { repository: repository ?? undefined, tag: tag ?? undefined }
  const verdict = await translateProviderErrors(services.sources.port.verifyRegistry(connection, image, signal))
  return ok({ ...verdict, checkedAt: timestamp(services.clock.now()) })
}
