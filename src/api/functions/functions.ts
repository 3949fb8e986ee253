import { functionObjectName } from '../../contracts/functions.ts'
import { RESOURCE_STATES } from '../../core/conditions.ts'
import { notFound } from '../../core/errors.ts'
import { resourceNamePattern, resourceNameRule } from '../../core/names.ts'
import { BUILD_STATES, FUNCTION_NAMES_MAX_LENGTH, FunctionNamespace, ServerlessFunction } from '../../crds/functions.ts'
import { type Answer, created, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { REFERENCE_RIGHTS } from '../http/furtherRights.ts'
import { action, type RouteDraft, route, withKind } from '../http/route.ts'
import type { RecordOf } from '../records/records.ts'
import { checkSpec } from '../records/specs.ts'
import { changeResource, createResource } from '../resources/change.ts'
import { collection } from '../resources/collection/collection.ts'
import { inResource } from '../resources/collection/parents.ts'
import { registerDeclaration } from '../resources/declarations.ts'
import { createViewBuilder, findResource, type ResourceLocation, workloadRefOf } from '../resources/find.ts'
import type { WorkloadRef } from '../resources/liveState.ts'
import { dateTime, enumeration, flag, text } from '../resources/paging.ts'
import { withClaimedAddresses } from '../resources/platformNames.ts'
import type { AnyDeclaration } from '../resources/types.ts'
import { refuseWhileDeleting, specForUpdate } from '../resources/writes.ts'
import { bodyOverStored, checkingBodyOn404, withIgnoredReadFields } from '../resources/writtenBody.ts'
import { functionRecord } from './record.ts'

export const NAMESPACE_PATH = '{RG}/functionnamespaces/{namespaceName}'
export const FUNCTION_PATH = `${NAMESPACE_PATH}/functions/{functionName}`

type Stored = RecordOf<typeof ServerlessFunction>
const declaration = {
  ...functionRecord,
} as unknown as AnyDeclaration<typeof ServerlessFunction>
registerDeclaration(ServerlessFunction, declaration)
const example = { handler: 'index', triggers: [{ name: 'web', kind: 'Http', path: '/hello', authLevel: 'Anonymous' }] }

function recordOfFunction(object: Stored, context: Context, resourceGroup: string) {
  const { boundaryId = '' } = context.parameters
  return functionRecord.toDto(
    createViewBuilder<typeof ServerlessFunction>(context.services, boundaryId)(object, resourceGroup),
  )
}

const groupOf = ({ parameters }: Context) => parameters.resourceGroupName ?? parameters.resourceGroup ?? ''

const functions = collection(ServerlessFunction, {
  path: `${NAMESPACE_PATH}/functions`,
  item: 'functionName',
  noun: 'Function',
  parent: inResource(FunctionNamespace, 'namespaceName', 'function namespace'),
  includes: ({ spec }, { owner }) => spec.namespaceName === owner?.metadata.name,
  keyOf: ({ spec }) => spec.functionName,
  may: { read: action('functions/read'), delete: action('functions/delete') },
  dto: functionRecord.dto,
  toDto: (object, { context }) => recordOfFunction(object as Stored, context, groupOf(context)) as never,
  columns: {
    name: text('Name', { isSearched: true }),
    status: enumeration('Status', RESOURCE_STATES, { isSorted: false }),
    buildStatus: enumeration('Build', BUILD_STATES, { isSorted: false }),
    enabled: flag('Enabled'),
    createdAt: dateTime('Created', { isFiltered: false }),
  },
  sort: 'name',
  name: 'name',
  isTagged: true,
  list: { summary: 'The functions of a namespace' },
  get: { summary: 'Read one' },
  remove: { summary: 'Deletes it with its source', waits: true },
})

export type FoundFunction = {
  object: Stored
  owner: RecordOf<typeof FunctionNamespace>
  ref: { namespace: string; name: string }
  at: ResourceLocation & { namespaceName: string }
  /** Where its copies run, which its namespace determines. */
  live: WorkloadRef
}

/** Returns what the path names, whether or not the function exists. @throws PlatformError NOT_FOUND */
async function locateFunction(context: Context) {
  const { object: owner, ref, location } = await findResource(FunctionNamespace, context, 'namespaceName')
  const { functionName = '' } = context.parameters
  const name = functionObjectName(ref.name, functionName)
  return {
    owner,
    ref: { namespace: ref.namespace, name },
    at: { ...location, name: functionName, namespaceName: ref.name },
  }
}

/** @throws PlatformError NOT_FOUND */
export async function findFunction(context: Context): Promise<FoundFunction> {
  const { owner, ref, at } = await locateFunction(context)
  const object = await context.services.records.get(ServerlessFunction, ref, { fresh: context.fresh })
  if (object === undefined) throw notFound(`Function "${at.name}" of function namespace "${at.namespaceName}"`)
  const { clusterId } = owner.spec
  return { object, owner, ref, at, live: workloadRefOf(context.services, { ...object, spec: { clusterId } }) }
}

const body = withIgnoredReadFields(declaration.body, functionRecord.dto)
const schemas = {
  further: REFERENCE_RIGHTS,
  ...bodyOverStored(body),
  example,
  reply: functionRecord.dto,
}

const NAMING = {
  rule: `${resourceNameRule()}; with the name of its namespace at most ${FUNCTION_NAMES_MAX_LENGTH} characters`,
  pattern: resourceNamePattern(),
}

export const functionRoutes: readonly RouteDraft[] = [
  ...functions.routes(),
  ...withKind(ServerlessFunction, [
    route('POST', FUNCTION_PATH, {
      auth: action('functions/write'),
      summary: 'Create; the same body again answers 200',
      naming: NAMING,
      ...schemas,
      handler: checkingBodyOn404(body, create),
    }),
    route('PUT', FUNCTION_PATH, {
      auth: action('functions/write'),
      summary: 'Replace the writable fields',
      ...schemas,
      handler: checkingBodyOn404(body, update),
    }),
  ]),
]

async function create(context: Context): Promise<Answer<never>> {
  const { owner, ref, at } = await locateFunction(context)
  refuseWhileDeleting(owner)
  const { object, isNew } = await createResource(ServerlessFunction, { ref, location: at }, declaration, context)
  const dto = recordOfFunction(object, context, at.resourceGroup) as never
  return (isNew ? created : ok)(dto, { etag: etagOf(object) })
}

async function update(context: Context): Promise<Answer<never>> {
  const { ref, at } = await findFunction(context)
  const { object } = await withClaimedAddresses(ServerlessFunction, context, (claimAdded) =>
    changeResource(ServerlessFunction, { ref, location: at }, context, async (stored, reserve) => {
      const spec = await specForUpdate(ServerlessFunction, context, at, declaration, stored, 'put')
      const checked = checkSpec(ServerlessFunction, spec, stored.spec)
      await reserve(checked)
      await claimAdded(stored, checked)
      return spec
    }),
  )
  return ok(recordOfFunction(object, context, at.resourceGroup) as never, { etag: etagOf(object) })
}
