import { z } from 'zod'
import type { Credential } from '../../adapters/registry/port.ts'
import { dockerConfig } from '../../contracts/dockerConfig.ts'
import { PULL_SECRET, repositoryScope, repositoryText } from '../../contracts/registry/names.ts'
import { PlatformError, permissionMissing } from '../../core/errors.ts'
import { groupNamespace } from '../../core/names.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { ResourceName } from '../../crds/fields.ts'
import { RESOURCE_KINDS } from '../../crds/index.ts'
import { boundaryScope } from '../callers/visibility.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { authenticated, type RouteDraft, route } from '../http/route.ts'
import { BUILD } from '../resources/deployments/reporters.ts'
import { DateTime, Uuid } from '../resources/dto.ts'
import { lifeOf } from './credentials.ts'
import { rightsTo } from './rights.ts'
import { record, refuse, registryOf } from './service.ts'

const BOUNDARY_MILLISECONDS = 86_400_000
const BUILD_MILLISECONDS = 3_600_000

const MintBoundaryRequest = z.strictObject({ boundary: Uuid }).meta({ id: 'MintBoundaryRequest' })

const RegistryCredentialDto = z
  .object({
    registry: z.string().describe('As it stands in the names of images'),
    username: z.string(),
    password: z.string(),
    dockerConfigJson: z.string().describe('What a Secret of type kubernetes.io/dockerconfigjson holds'),
    scope: z.string(),
    expiresAt: DateTime,
    secretName: z.string().nullable().describe('The pull secret that is kept in the namespace of each group'),
  })
  .meta({ id: 'RegistryCredentialDto' })

const MintBuildRequest = z
  .strictObject({
    boundary: Uuid,
    resourceGroup: ResourceName,
    kind: z.string().regex(/^[a-z]{1,40}$/, 'must be a collection, such as containerinstances'),
    name: ResourceName,
  })
  .meta({ id: 'MintBuildRequest' })

const RegistryBuildTokenDto = z
  .object({
    registry: z.string(),
    repository: z.string(),
    username: z.string(),
    token: z.string().describe('The password'),
    scopes: z.array(z.string()),
    expiresAt: DateTime,
  })
  .meta({ id: 'RegistryBuildTokenDto' })

type Limit = NonNullable<Credential['limit']>

async function mint(context: Context, kind: 'Boundary' | 'Build', limit: Limit, place: string, expiresAt: number) {
  const { services, caller } = context
  const { principalId, principalType, principalUid } = caller
  const lives = { [place]: lifeOf(services, place) ?? '' }
  return registryOf(services).keys.issue({ kind, principalId, principalType, principalUid, limit, lives, expiresAt })
}

function unknown(field: string, value: string): PlatformError {
  return new PlatformError('REFERENCE_NOT_FOUND', `There is no ${field} "${value}" there.`, { field, value })
}

const NO_STORE = { headers: { 'cache-control': 'no-store' } }

async function mintBoundary(context: Context<string, unknown, z.output<typeof MintBoundaryRequest>>) {
  const { services, caller, body } = context
  const { host } = registryOf(services)
  const { boundary } = body
  const scope = boundaryScope(boundary)
  const actor = caller.principalId
  if (!services.access.isAllowed(actor, BUILD, scope)) {
    await refuse(context, { actor, boundary, detail: 'boundary credential' }, permissionMissing(BUILD, scope))
  }
  if ((await services.records.get(Boundary, { name: boundary })) === undefined) throw unknown('boundary', boundary)
  const expiresAt = services.clock.now() + BOUNDARY_MILLISECONDS
  const limit = { repositories: `${boundary}/*`, actions: ['pull'] }
  const password = await mint(context, 'Boundary', limit, boundary, expiresAt)
  const username = `boundary-${boundary}`
  await record(context, { action: 'MintBoundary', outcome: 'Succeeded', actor, boundary })
  return ok(
    {
      registry: host,
      username,
      password,
      dockerConfigJson: dockerConfig({ [host]: { username, password } }),
      scope: `repository:${limit.repositories}:pull`,
      expiresAt: new Date(expiresAt).toISOString(),
      secretName: PULL_SECRET,
    },
    NO_STORE,
  )
}

async function mintBuild(context: Context<string, unknown, z.output<typeof MintBuildRequest>>) {
  const { services, caller, body } = context
  const { host } = registryOf(services)
  const { boundary, resourceGroup, kind: collection, name } = body
  const place = { boundaryId: boundary, resourceGroup, collection, name }
  const repository = repositoryText(place)
  const kind = RESOURCE_KINDS.find(({ segment }) => segment === collection)
  if (kind === undefined) throw unknown('kind', collection)
  const actor = caller.principalId
  if (!rightsTo(services, actor, place).has('push')) {
    const missing = permissionMissing(`${kind.actions}/write`, repositoryScope(place))
    await refuse(context, { actor, boundary, repository, detail: 'build token' }, missing)
  }
  const group = `${boundary}/${resourceGroup}`
  if (lifeOf(services, boundary) === undefined) throw unknown('boundary', boundary)
  if (lifeOf(services, group) === undefined) throw unknown('resourceGroup', resourceGroup)
  const ref = { namespace: groupNamespace(boundary, resourceGroup), name }
  if ((await services.records.get(kind, ref)) === undefined) throw unknown('name', name)
  const expiresAt = services.clock.now() + BUILD_MILLISECONDS
  const limit = { repositories: repository, actions: ['pull', 'push'] }
  const token = await mint(context, 'Build', limit, group, expiresAt)
  await record(context, { action: 'MintBuild', outcome: 'Succeeded', actor, boundary, repository })
  const scopes = [`repository:${repository}:pull,push`]
  const until = new Date(expiresAt).toISOString()
  return ok({ registry: host, repository, username: 'build', token, scopes, expiresAt: until }, NO_STORE)
}

const INTERNAL = '/v1/internal/registries'

export const mintRoutes: readonly RouteDraft[] = [
  route(
    'POST',
    `${INTERNAL}/mint-boundary-credential`,
    {
      auth: authenticated,
      summary: 'A password that pulls the images of a boundary for a day',
      body: MintBoundaryRequest,
      reply: RegistryCredentialDto,
      answers: [403, 422, 503],
    },
    mintBoundary,
  ),
  route(
    'POST',
    `${INTERNAL}/mint-build-token`,
    {
      auth: authenticated,
      summary: 'A password that pushes images of one resource for an hour',
      body: MintBuildRequest,
      reply: RegistryBuildTokenDto,
      answers: [403, 422, 503],
    },
    mintBuild,
  ),
]
