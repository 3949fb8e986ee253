import { z } from 'zod'
import { managedIdentityId } from '../../contracts/managedIdentities.ts'
import { notFound, PlatformError } from '../../core/errors.ts'
import { FINALIZER } from '../../core/labels.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import type { AnyKind } from '../../crds/define.ts'
import { ResourceName } from '../../crds/fields.ts'
import { KINDS } from '../../crds/index.ts'
import { CodeCollection, isWorkload, ManagedIdentity, ResourceUid, workloadKind } from '../../crds/managedidentities.ts'
import { acceptedEmpty, created, noContent, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { action, dataAction, type RouteDraft, route } from '../http/route.ts'
import { pagedListOf } from '../resources/dto.ts'
import { pagedParts } from '../resources/pages.ts'
import { findGroup } from '../resources/places.ts'
import { untilChanged } from '../resources/untilChanged.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { ManagedIdentityCredentialsDto, readCredentials, rotateCredentials } from './credentials.ts'
import { type IdentityRecord, identityDto, identityShape, ManagedIdentityDto, rolesByPrincipal } from './record.ts'

const BASE = '{B}/resourcegroups/{resourceGroup}/providers/identity/managedidentities'

const ProvisionRequest = z
  .strictObject({ resourceName: ResourceName, resourceType: CodeCollection, resourceUid: ResourceUid })
  .meta({ id: 'ProvisionRequest' })
type ProvisionRequest = z.output<typeof ProvisionRequest>

type InGroup = 'boundaryId' | 'resourceGroup'

async function identitiesOf(context: Context<InGroup>): Promise<IdentityRecord[]> {
  const { boundaryId, resourceGroup } = context.parameters
  await findGroup(context, boundaryId, resourceGroup)
  const namespace = groupNamespace(boundaryId, resourceGroup)
  return [...(await context.services.records.list(ManagedIdentity, { namespace }, { fresh: context.fresh }))]
}

/** The identity of a workload; of several that kubectl made, the oldest. @throws PlatformError NOT_FOUND */
async function findIdentity(context: Context<InGroup | 'resourceUid'>): Promise<IdentityRecord> {
  const { resourceUid, resourceGroup } = context.parameters
  const age = ({ metadata }: IdentityRecord) => `${metadata.creationTimestamp} ${metadata.name}`
  const [found] = (await identitiesOf(context))
    .filter(({ spec }) => spec.resourceUid === resourceUid)
    .sort((one, other) => age(one).localeCompare(age(other)))
  if (found === undefined) {
    throw notFound(`A managed identity of resource "${resourceUid.slice(0, 128)}" in group "${resourceGroup}"`)
  }
  return found
}

function shown(context: Context<InGroup>, object: IdentityRecord): ManagedIdentityDto {
  const { boundaryId, resourceGroup: group } = context.parameters
  const roles = rolesByPrincipal(context.services, boundaryNamespace(boundaryId))
  return identityDto(context.services, { object, boundaryId, group }, roles)
}

async function listIdentities(context: Context<InGroup, { resourceName?: string | undefined } | undefined>) {
  const { boundaryId, resourceGroup: group } = context.parameters
  const wanted = context.query?.resourceName
  const found = (await identitiesOf(context)).filter(({ spec }) => wanted === undefined || spec.resourceName === wanted)
  const rows = found.map((object) => ({ object, boundaryId, group }))
  const roles = rolesByPrincipal(context.services, boundaryNamespace(boundaryId))
  return pagedParts(rows, context.list, identityShape, (view) => identityDto(context.services, view, roles))
}

/**
 * Past the cache: the resource may have been made a moment ago through another replica.
 *
 * @throws PlatformError REFERENCE_NOT_FOUND unless the live resource of that name and type has this uid
 */
async function requireWorkload(kinds: readonly AnyKind[], context: Context<InGroup>, request: ProvisionRequest) {
  const { boundaryId, resourceGroup } = context.parameters
  const { resourceName, resourceType } = request
  const kind = workloadKind(kinds, resourceType)
  const ref = { namespace: groupNamespace(boundaryId, resourceGroup), name: resourceName }
  const object = kind === undefined ? undefined : await context.services.records.get(kind, ref, { fresh: true })
  if (isWorkload(object, request)) return
  const message = `Group "${resourceGroup}" has no resource "${resourceName}" of ${resourceType} with this uid.`
  throw new PlatformError('REFERENCE_NOT_FOUND', message, { field: 'resourceUid', value: request.resourceUid })
}

async function provision(kinds: readonly AnyKind[], context: Context<InGroup, unknown, ProvisionRequest>) {
  const { services, caller, body, parameters } = context
  const { boundaryId, resourceGroup } = parameters
  refuseWhileDeleting(await findGroup(context, boundaryId, resourceGroup))
  const namespace = groupNamespace(boundaryId, resourceGroup)
  const isSame = ({ spec }: Pick<IdentityRecord, 'spec'>) =>
    spec.resourceUid === body.resourceUid &&
    spec.resourceName === body.resourceName &&
    spec.resourceType === body.resourceType
  const present = services.records.peekAll(ManagedIdentity, { namespace }).find(isSame)
  // The controller sees to it that there is none without its resource.
  if (present !== undefined) {
    refuseWhileDeleting(present)
    return ok(shown(context, present), { etag: etagOf(present) })
  }
  await requireWorkload(kinds, context, body)
  const { object, isNew } = await services.records.create(ManagedIdentity, {
    namespace,
    name: managedIdentityId(namespace, body.resourceUid),
    spec: body,
    caller,
    // From the first moment: one deleted before its controller saw it would leave its service account behind.
    finalizers: [FINALIZER],
    isSame,
  })
  const answer = isNew ? created : ok
  return answer(shown(context, object), { etag: etagOf(object) })
}

/** 204 once assignments, account and secret are gone, which takes moments; 202 where it takes longer. */
async function remove(context: Context<InGroup | 'resourceUid'>) {
  const { records } = context.services
  const { metadata } = await findIdentity(context)
  const ref = { namespace: metadata.namespace, name: metadata.name }
  const { isGone } = await records.remove(ManagedIdentity, ref, { caller: context.caller, ifMatch: context.ifMatch })
  if (isGone) return noContent()
  const isDone = await untilChanged(
    context,
    async () => records.peek(ManagedIdentity, ref)?.metadata.uid !== metadata.uid,
  )
  return isDone ? noContent() : acceptedEmpty()
}

/**
 * Section 4.15 of the interface.
 *
 * @param kinds in which the collections that run code are looked for
 */
export function managedIdentityRoutes(kinds: readonly AnyKind[] = KINDS): readonly RouteDraft[] {
  return [
    route(
      'GET',
      BASE,
      {
        auth: action('managedidentities/read'),
        summary: 'The identities of resources of the group',
        query: z.strictObject({ resourceName: z.string().max(63).optional() }),
        list: identityShape as never,
        reply: pagedListOf(ManagedIdentityDto),
        answers: [200],
      },
      listIdentities,
    ),
    route(
      'POST',
      BASE,
      {
        auth: action('managedidentities/write'),
        summary: 'Give a resource that runs code an identity; the same resource again answers 200',
        body: ProvisionRequest,
        reply: ManagedIdentityDto,
        answers: [200, 201, 422],
      },
      (context) => provision(kinds, context),
    ),
    route(
      'GET',
      `${BASE}/{resourceUid}`,
      {
        auth: action('managedidentities/read'),
        summary: 'The identity of a resource',
        reply: ManagedIdentityDto,
        answers: [200],
      },
      async (context) => {
        const object = await findIdentity(context)
        return ok(shown(context, object), { etag: etagOf(object) })
      },
    ),
    route(
      'DELETE',
      `${BASE}/{resourceUid}`,
      {
        auth: action('managedidentities/delete'),
        summary: 'Take the identity away, with its assignments and credentials',
        answers: [200, 202, 204],
      },
      remove,
    ),
    route(
      'POST',
      `${BASE}/{resourceUid}/token`,
      {
        auth: dataAction('managedidentities/readSecrets'),
        summary: 'What the resource signs in with; rotate=true makes a new secret first',
        query: z.strictObject({ rotate: z.enum(['true', 'false']).optional() }),
        reply: ManagedIdentityCredentialsDto,
        answers: [200, 409],
      },
      async (context) => {
        const object = await findIdentity(context)
        const isRotation = context.query?.rotate === 'true'
        return readCredentials(context, isRotation ? await rotateCredentials(context, object) : object)
      },
    ),
  ]
}
