import { z } from 'zod'
import { managedIdentityId } from '../../contracts/managedIdentities.ts'
import { PlatformError } from '../../core/errors.ts'
import { FINALIZER } from '../../core/labels.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { refOf } from '../../core/object.ts'
import type { AnyKind } from '../../crds/define.ts'
import { ResourceName } from '../../crds/fields.ts'
import { KINDS } from '../../crds/index.ts'
import {
  CODE_COLLECTIONS,
  CodeCollection,
  isWorkload,
  ManagedIdentity,
  ResourceUid,
  workloadKind,
} from '../../crds/managedidentities.ts'
import type { Context } from '../http/context.ts'
import { strictRecord } from '../http/namedRecord.ts'
import { action, dataAction, type RouteDraft, route } from '../http/route.ts'
import { collection } from '../resources/collection/collection.ts'
import { type GroupParent, inGroup } from '../resources/collection/parents.ts'
import type { CreationResult } from '../resources/collection/types.ts'
import { dateTime, enumeration, text } from '../resources/paging.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { ManagedIdentityCredentialsDto, readCredentials, rotateCredentials } from './credentials.ts'
import { IDENTITY_STATES, type IdentityRecord, ManagedIdentityDto, rolesByPrincipal, shownOf } from './record.ts'

const ProvisionRequest = strictRecord('ProvisionRequest', {
  resourceName: ResourceName,
  resourceType: CodeCollection,
  resourceUid: ResourceUid,
})
type ProvisionRequest = z.output<typeof ProvisionRequest>

/**
 * Bypasses the cache, because another replica may have just created the resource.
 * @throws PlatformError REFERENCE_NOT_FOUND unless a live resource of that name and type has this uid
 */
async function requireWorkload(
  kinds: readonly AnyKind[],
  { services }: Context,
  request: ProvisionRequest,
  { namespace, resourceGroup }: GroupParent,
) {
  const { resourceName, resourceType } = request
  const kind = workloadKind(kinds, resourceType)
  const ref = { namespace, name: resourceName }
  const object = kind === undefined ? undefined : await services.records.get(kind, ref, { fresh: true })
  if (isWorkload(object, request)) return
  const message = `Group "${resourceGroup}" has no resource "${resourceName}" of ${resourceType} with this uid.`
  throw new PlatformError('REFERENCE_NOT_FOUND', message, { field: 'resourceUid', value: request.resourceUid })
}

async function provision(
  kinds: readonly AnyKind[],
  context: Context<string, unknown, ProvisionRequest>,
  parent: GroupParent,
): Promise<CreationResult<typeof ManagedIdentity>> {
  const { services, caller, body } = context
  const { namespace } = parent
  const isSame = ({ spec }: Pick<IdentityRecord, 'spec'>) =>
    spec.resourceUid === body.resourceUid &&
    spec.resourceName === body.resourceName &&
    spec.resourceType === body.resourceType
  const known = services.records.peekAll(ManagedIdentity, { namespace }).find(isSame)
  const present = known && (await services.records.get(ManagedIdentity, refOf(known), { fresh: true }))
  // The controller deletes identities whose resource is gone.
  if (present !== undefined) {
    refuseWhileDeleting(present)
    return { object: present, isNew: false }
  }
  await requireWorkload(kinds, context, body, parent)
  return services.records.create(ManagedIdentity, {
    namespace,
    name: managedIdentityId(namespace, body.resourceUid),
    spec: body,
    caller,
    // Set at creation: an identity deleted before its controller saw it would leave its service account behind.
    finalizers: [FINALIZER],
    isSame,
  })
}

/** @param kinds the kinds to search for the collections that run code */
function identitiesOf(kinds: readonly AnyKind[]) {
  return collection(ManagedIdentity, {
    path: '{B}/resourcegroups/{resourceGroup}/providers/identity/managedidentities',
    item: 'resourceUid',
    noun: 'A managed identity of resource',
    parent: inGroup,
    keyOf: ({ spec }) => spec.resourceUid,
    may: {
      read: action('managedidentities/read'),
      write: action('managedidentities/write'),
      delete: action('managedidentities/delete'),
    },
    dto: ManagedIdentityDto,
    related: (_identities, { services }, { boundaryId }) => rolesByPrincipal(services, boundaryNamespace(boundaryId)),
    toDto: (object, { services, parent: { boundaryId, resourceGroup }, related: roles }) => ({
      ...shownOf(object, services, roles),
      boundaryId,
      resourceGroup,
    }),
    columns: {
      resourceName: text('Resource', { isSearched: true }),
      resourceType: enumeration('Type', CODE_COLLECTIONS, { isSorted: false }),
      status: enumeration('Status', IDENTITY_STATES, { isSorted: false }),
      createdAt: dateTime('Created', { isFiltered: false }),
    },
    sort: 'resourceName',
    name: 'resourceName',
    list: {
      summary: 'The identities of resources of the group',
      query: z.strictObject({
        resourceName: z.string().min(1).max(63).optional().describe('Only those of this resource'),
      }),
      where:
        ({ resourceName }) =>
        ({ spec }) =>
          resourceName === undefined || spec.resourceName === resourceName,
    },
    get: { summary: 'The identity of a resource' },
    create: {
      summary: 'Give a resource that runs code an identity; the same resource again answers 200',
      body: ProvisionRequest,
      make: (context, parent) => provision(kinds, context, parent),
    },
    remove: {
      summary: 'Delete the identity with its assignments and credentials',
      waits: true,
    },
  })
}

/** Section 4.15 of the interface. */
export function managedIdentityRoutes(kinds: readonly AnyKind[] = KINDS): readonly RouteDraft[] {
  const identities = identitiesOf(kinds)
  return [
    ...identities.routes(),
    route('POST', `${identities.itemPath}/token` as string, {
      auth: dataAction('managedidentities/readSecrets'),
      isHeld: true,
      summary: 'What the resource signs in with; rotate=true makes a new secret first',
      query: z.strictObject({
        rotate: z.enum(['true', 'false']).optional().describe('Whether the secret is replaced by a new one'),
      }),
      reply: ManagedIdentityCredentialsDto,
      handler: async (context) => {
        const { object } = await identities.find(context)
        const isRotation = context.query?.rotate === 'true'
        return readCredentials(context, isRotation ? await rotateCredentials(context, object) : object)
      },
    }),
  ]
}
