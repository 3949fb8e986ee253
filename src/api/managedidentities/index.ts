import { z } from 'zod'
import { CLIENT_SECRET_KEY, managedIdentityId, managedIdentitySecretName } from '../../contracts/managedIdentities.ts'
import { summaryOf } from '../../core/conditions.ts'
import { PlatformError } from '../../core/errors.ts'
import { FINALIZER } from '../../core/labels.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { refOf } from '../../core/object.ts'
import { secretText } from '../../core/secretData.ts'
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
import { type Answer, NO_STORE, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { action, dataAction, type RouteDraft, route } from '../http/route.ts'
import type { SecretReader } from '../records/secrets.ts'
import { collection } from '../resources/collection/collection.ts'
import { type GroupParent, inGroup } from '../resources/collection/parents.ts'
import type { CreationResult } from '../resources/collection/types.ts'
import { DateTime } from '../resources/dto.ts'
import { invalidState } from '../resources/invalidState.ts'
import { dateTime, enumeration, text } from '../resources/paging.ts'
import { pollUntilChanged } from '../resources/pollUntilChanged.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import {
  IDENTITY_STATES,
  type IdentityRecord,
  isReady,
  ManagedIdentityDto,
  principalOf,
  rolesByPrincipal,
  shownOf,
} from './record.ts'

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

declare module '../http/context.ts' {
  interface Services {
    readonly managedIdentities: {
      readonly secrets: SecretReader
      /** Where identities get their tokens. */
      readonly signIn: { readonly tokenUrl: string; readonly audience: string; readonly realm: string }
    }
  }
}

const ManagedIdentityCredentialsDto = namedRecord('ManagedIdentityCredentialsDto', {
  grantType: z.literal('client_credentials'),
  clientId: z.string(),
  clientSecret: z.string(),
  tokenUrl: z.string(),
  audience: z.string(),
  realm: z.string(),
  expiresAt: DateTime.nullable().describe('Of the secret; null: until it is rotated'),
  secretVersion: z.int(),
})

/** @throws PlatformError INVALID_STATE while the requested secret version does not exist */
async function readCredentials(
  context: Context,
  object: IdentityRecord,
): Promise<Answer<z.input<typeof ManagedIdentityCredentialsDto>>> {
  const { secrets, signIn } = context.services.managedIdentities
  refuseWhileDeleting(object)
  const clientId = principalOf(object)
  const { secretVersion } = object.spec
  const found = isReady(object)
    ? await secrets.read(SYSTEM_NAMESPACE, managedIdentitySecretName(clientId, secretVersion))
    : undefined
  const clientSecret = secretText(found, CLIENT_SECRET_KEY) ?? ''
  if (clientSecret === '') throw notReady(object)
  const body = { clientId, clientSecret, ...signIn, expiresAt: null, secretVersion }
  return ok({ grantType: 'client_credentials', ...body }, { headers: NO_STORE })
}

function notReady(object: IdentityRecord): PlatformError {
  if (isReady(object))
    return invalidState(object, 'The secret of this identity is missing: ask for a new one with rotate=true.')
  const { status, statusMessage } = summaryOf(object)
  // Waiting does not help until somebody fixes the cause.
  if (status === 'Failed') return invalidState(object, `This identity has no credentials: ${statusMessage}`)
  return invalidState(object, 'The credentials of this identity are not ready yet: try again.')
}

/** Requests a new secret and waits briefly for it. The old one stops working when the new one takes effect. */
async function rotateCredentials(context: Context, object: IdentityRecord): Promise<IdentityRecord> {
  const { records } = context.services
  const ref = refOf(object)
  const { object: requested } = await records.update(ManagedIdentity, ref, {
    caller: context.caller,
    ifMatch: context.ifMatch,
    change: (stored) => {
      refuseWhileDeleting(stored)
      if (!isReady(stored)) throw notReady(stored)
      return { ...stored.spec, secretVersion: stored.spec.secretVersion + 1 }
    },
  })
  let current = requested
  await pollUntilChanged(context, async () => {
    current = records.peek(ManagedIdentity, ref) ?? current
    return current.spec.secretVersion >= requested.spec.secretVersion && isReady(current)
  })
  return current
}
