import { z } from 'zod'
import type { Credential } from '../../adapters/registry/port.ts'
import { dockerConfig } from '../../contracts/dockerConfig.ts'
import { formatRepository, PULL_SECRET } from '../../contracts/registry/names.ts'
import { DAY_MS, timestamp } from '../../core/clock.ts'
import { PlatformError, permissionMissing } from '../../core/errors.ts'
import { ResourceName } from '../../crds/fields.ts'
import { RESOURCE_KINDS } from '../../crds/index.ts'
import { resourceScope } from '../callers/visibility.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { checkedByHandler, type RouteDraft, route } from '../http/route.ts'
import { DateTime, Uuid } from '../resources/dto.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { boundaryOrGroupAt, findIncarnation, resourceAt } from './credentials.ts'
import { rightsNow } from './rights.ts'
import { auditAction, auditRefusal, builderAuth, registryOf, requireBuilder } from './service.ts'

const BOUNDARY_TOKEN_TTL_MS = DAY_MS
const BUILD_TOKEN_TTL_MS = 3_600_000

const MintBoundaryRequest = strictRecord('MintBoundaryRequest', { boundary: Uuid })

const RegistryCredentialDto = namedRecord('RegistryCredentialDto', {
  registry: z.string().describe('As in the names of images'),
  username: z.string(),
  password: z.string(),
  dockerConfigJson: z.string().describe('The content of a Secret of type kubernetes.io/dockerconfigjson'),
  scope: z.string(),
  expiresAt: DateTime,
  secretName: z.string().nullable().describe('The pull secret that is kept in the namespace of each group'),
})

const MintBuildRequest = strictRecord('MintBuildRequest', {
  boundary: Uuid,
  resourceGroup: ResourceName,
  kind: z.string().regex(/^[a-z]{1,40}$/, 'must be a collection, such as containerinstances'),
  name: ResourceName,
})

const RegistryBuildTokenDto = namedRecord('RegistryBuildTokenDto', {
  registry: z.string(),
  repository: z.string(),
  username: z.string(),
  token: z.string().describe('The password'),
  scopes: z.array(z.string()),
  expiresAt: DateTime,
})

/** @param credential `lives` are the incarnations of the boundary, group or resource for which the credential is valid */
async function mint(context: Context, credential: Pick<Credential, 'kind' | 'limit' | 'lives'>, milliseconds: number) {
  const { services, caller } = context
  const { principalId, principalType, principalUid } = caller
  const expiresAt = services.clock.now() + milliseconds
  const password = await registryOf(services).keys.issue({
    ...credential,
    principalId,
    principalType,
    principalUid,
    expiresAt,
  })
  return { password, expiresAt: timestamp(expiresAt) }
}

const FIELD_NOUNS: Record<string, string> = { resourceGroup: 'resource group', name: 'such resource:' }

function unknownReference(field: string, value: string): PlatformError {
  const message = `There is no ${FIELD_NOUNS[field] ?? field} "${value}".`
  return new PlatformError('REFERENCE_NOT_FOUND', message, { field, value })
}

/** Returns the incarnation of a place for a credential. @throws PlatformError REFERENCE_NOT_FOUND, INVALID_STATE */
async function incarnationsAt(
  { services, caller }: Context,
  field: string,
  place: string,
): Promise<Record<string, string>> {
  const incarnation = await findIncarnation(services, caller.principalId, place)
  if (incarnation === undefined) throw unknownReference(field, place.split('/').at(-1) ?? '')
  const found = boundaryOrGroupAt(services, place)
  if (found !== undefined) refuseWhileDeleting(found)
  return { [place]: incarnation }
}

async function mintBoundary(context: Context<string, unknown, z.output<typeof MintBoundaryRequest>>) {
  const { host: registry } = registryOf(context.services)
  const { boundary } = context.body
  await requireBuilder(context, { boundary, detail: 'boundary credential' })
  const lives = await incarnationsAt(context, 'boundary', boundary)
  const limit = { repositories: `${boundary}/*`, actions: ['pull'] }
  const { password, expiresAt } = await mint(context, { kind: 'Boundary', limit, lives }, BOUNDARY_TOKEN_TTL_MS)
  const username = `boundary-${boundary}`
  await auditAction(context, 'MintBoundary', { boundary })
  const dockerConfigJson = dockerConfig({ [registry]: { username, password } })
  const scope = `repository:${limit.repositories}:pull`
  return ok({ registry, username, password, dockerConfigJson, scope, expiresAt, secretName: PULL_SECRET })
}

async function mintBuild(context: Context<string, unknown, z.output<typeof MintBuildRequest>>) {
  const { services, caller, body } = context
  const { host: registry, space } = registryOf(services)
  const { boundary, resourceGroup, kind: collection, name } = body
  const place = { boundaryId: boundary, resourceGroup, collection, name }
  const repository = formatRepository(place)
  const kind = RESOURCE_KINDS.find(({ segment }) => segment === collection)
  if (kind === undefined) throw unknownReference('kind', collection)
  if (!(await rightsNow(services, caller.principalId, place, ['push'])).has('push')) {
    const [action, scope] = [`${kind.actions}/write`, resourceScope(boundary, resourceGroup, collection, name)]
    await auditRefusal(context, { repository, detail: `build token: ${action} is missing at ${scope}` })
    throw permissionMissing(action, scope)
  }
  await incarnationsAt(context, 'boundary', boundary)
  const lives = await incarnationsAt(context, 'resourceGroup', `${boundary}/${resourceGroup}`)
  const found = await resourceAt(services, place)
  if (found === undefined) throw unknownReference('name', name)
  refuseWhileDeleting(found)
  await space.refuseIfFull(boundary)
  const limit = { repositories: repository, actions: ['pull', 'push'] }
  const credential = { kind: 'Build', limit, lives: { ...lives, [repository]: found.metadata.uid ?? '' } } as const
  const { password: token, expiresAt } = await mint(context, credential, BUILD_TOKEN_TTL_MS)
  await auditAction(context, 'MintBuild', { repository })
  const scopes = [`repository:${repository}:pull,push`]
  return ok({ registry, repository, username: 'build', token, scopes, expiresAt })
}

const INTERNAL = '/v1/internal/registries'

export const mintRoutes: readonly RouteDraft[] = [
  route('POST', `${INTERNAL}/mint-boundary-credential`, {
    auth: builderAuth,
    summary: 'A password that pulls the images of a boundary for a day',
    body: MintBoundaryRequest,
    reply: RegistryCredentialDto,
    answers: [429],
    handler: mintBoundary,
  }),
  route('POST', `${INTERNAL}/mint-build-token`, {
    auth: checkedByHandler('the action that writes the resource that the request names, at that resource'),
    summary: 'A password that pushes images of one resource for an hour',
    body: MintBuildRequest,
    reply: RegistryBuildTokenDto,
    answers: [422, 429],
    handler: mintBuild,
  }),
]
