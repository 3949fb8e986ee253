import { z } from 'zod'
import { PlatformError } from '../../core/errors.ts'
import { groupNamespace } from '../../core/names.ts'
import type { AnyKind } from '../../crds/define.ts'
import { type Answer, acceptedEmpty, created, noContent, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf, versionOf } from '../http/etag.ts'
import type { RouteDraft } from '../http/route.ts'
import type { RecordOf } from '../records/records.ts'
import { changeResource, createResource } from './change.ts'
import { ListConfigDto, pagedListOf } from './dto.ts'
import {
  createViewBuilder,
  findBoundary,
  findGroup,
  findResource,
  groupsOfBoundary,
  locateResource,
  locationOf,
  type ResourceLocation,
} from './find.ts'
import { type DeclaredResource, genericRoute } from './generic.ts'
import { listConfig, planChoices } from './listConfig.ts'
import type { ListShape } from './paging.ts'
import { withClaimedAddresses } from './platformNames.ts'
import { pollUntilChanged } from './pollUntilChanged.ts'
import { listResources } from './resourceList.ts'
import { resourceShape } from './resourceShape.ts'
import { actionPrefixOf, type ResourceView } from './types.ts'
import { resourceNaming, specForUpdate } from './writes.ts'
import { bodyOverStored, checkingBodyOn404, mergePatchBody, withIgnoredReadFields } from './writtenBody.ts'

export function readRoutes<K extends AnyKind>(declaration: DeclaredResource<K>): RouteDraft[] {
  const { kind, parameter } = declaration
  const [inGroup, inBoundary] = [resourceShape(declaration, false), resourceShape(declaration, true)]
  const page: z.ZodType = pagedListOf(declaration.dto)
  const reply: z.ZodType = declaration.dto

  const listGroup = async (context: Context): Promise<Answer> => {
    const { boundaryId, resourceGroup } = locationOf(context, parameter)
    await findGroup(context, boundaryId, resourceGroup)
    const groups = [{ name: resourceGroup, namespace: groupNamespace(boundaryId, resourceGroup) }]
    return listResources(declaration, { context, boundaryId, groups, shape: inGroup })
  }
  const listBoundary = async (context: Context): Promise<Answer> => {
    const { boundaryId } = locationOf(context, parameter)
    await findBoundary(context, boundaryId)
    const groups = groupsOfBoundary(context.services, boundaryId)
    return listResources(declaration, { context, boundaryId, groups, shape: inBoundary })
  }
  const config = (isAcross: boolean) => async (context: Context) => {
    const { boundaryId, resourceGroup } = locationOf(context, parameter)
    await (isAcross ? findBoundary(context, boundaryId) : findGroup(context, boundaryId, resourceGroup))
    return ok(configOf(declaration, isAcross ? inBoundary : inGroup, context))
  }
  return [
    genericRoute('list', declaration, { list: inGroup, reply: page }, listGroup),
    genericRoute('config', declaration, { reply: ListConfigDto }, config(false)),
    genericRoute('get', declaration, { reply }, async (context) => {
      const { object, location } = await findResource(kind, context, parameter)
      return shown(object, location, context, declaration, ok)
    }),
    genericRoute('listAll', declaration, { list: inBoundary, reply: page }, listBoundary),
    genericRoute('configAll', declaration, { reply: ListConfigDto }, config(true)),
  ]
}

function configOf<K extends AnyKind>(
  { kind, enumerations = {}, choices, scale }: DeclaredResource<K>,
  shape: ListShape<ResourceView<K>>,
  context: Context,
) {
  return listConfig(shape, {
    collection: kind.segment,
    context,
    enumerations: { ...enumerations, ...choices?.(context.services) },
    plans: planChoices(context.services, kind),
    limits: scale === undefined ? {} : { minScale: scale.min, maxScale: scale.max },
    nameMin: kind.nameMin,
    actionPrefix: actionPrefixOf(kind),
  })
}

export function writeRoutes<K extends AnyKind>(declaration: DeclaredResource<K>): RouteDraft[] {
  const { kind, parameter, example, further } = declaration
  const reply: z.ZodType = declaration.dto
  const body = withIgnoredReadFields(declaration.body, declaration.dto)
  const whole = replacementBody(kind, body)
  const query = z.strictObject(
    'onDelete' in kind.spec.shape
      ? {
          keepData: z
            .enum(['true', 'false'])
            .optional()
            .describe('True keeps its volumes; onDelete of the resource decides otherwise'),
        }
      : {},
  )
  const update = (form: 'put' | 'patch') => async (context: Context) => {
    const located = await locateResource(context, parameter)
    const { location } = located
    const { object } = await withClaimedAddresses(kind, context, (claimAdded) =>
      changeResource(kind, located, context, async (stored, reserve) => {
        const spec = await specForUpdate(kind, context, location, declaration, stored, form)
        await reserve(spec)
        await claimAdded(stored, spec)
        return spec
      }),
    )
    return shown(object, location, context, declaration, ok)
  }
  return [
    genericRoute(
      'create',
      declaration,
      { ...bodyOverStored(body), example, further, reply, naming: resourceNaming(kind), answers: [200, 201] },
      checkingBodyOn404(body, (context) => create(declaration, context)),
    ),
    genericRoute(
      'update',
      declaration,
      { ...bodyOverStored(whole), example, further, reply },
      checkingBodyOn404(whole, update('put')),
    ),
    genericRoute('patch', declaration, { ...mergePatchBody(body), further, reply }, update('patch')),
    genericRoute('delete', declaration, { query, answers: [202, 204] }, (context) => remove(declaration, context)),
  ]
}

/** Makes immutable fields optional in a replacement: one that is left out stays as it is. */
function replacementBody({ immutable }: AnyKind, body: z.ZodObject): z.ZodObject {
  const needed = immutable.flatMap((field): [string, z.ZodType][] => {
    const part = body.shape[field] as z.ZodType | undefined
    return part === undefined || part.safeParse(undefined).success ? [] : [[field, part.optional()]]
  })
  return needed.length === 0 ? body : body.extend(Object.fromEntries(needed))
}

async function create<K extends AnyKind>(declaration: DeclaredResource<K>, context: Context): Promise<Answer> {
  const located = await locateResource(context, declaration.parameter)
  const { object, isNew } = await createResource(declaration.kind, located, declaration, context)
  return shown(object, located.location, context, declaration, isNew ? created : ok)
}

async function remove<K extends AnyKind>(declaration: DeclaredResource<K>, context: Context): Promise<Answer> {
  const { kind, parameter } = declaration
  const { object, location, ref } = await findResource(kind, context, parameter)
  const { caller, services } = context
  // The protection may have just been removed through another replica.
  if (isProtected(object)) refuseProtected((await services.records.get(kind, ref, { fresh: true })) ?? object)
  await declaration.beforeDelete?.(createViewBuilder<K>(services, location.boundaryId)(object, location.resourceGroup))
  let { ifMatch } = context
  if ((context.query as { keepData?: string } | undefined)?.keepData === 'true') {
    const change = ({ spec }: RecordOf<K>) => ({ ...spec, onDelete: 'Retain' })
    const { object: kept } = await services.records.update(kind, ref, { caller, ifMatch, change })
    // Delete exactly this version, to not overrule an opposite request in between.
    ifMatch = [versionOf(kept)]
  }
  const { isGone } = await services.records.remove(kind, ref, { caller, ifMatch })
  if (isGone) return noContent()
  const isRemoved = async () => services.records.peek(kind, ref)?.metadata.uid !== object.metadata.uid
  return declaration.deletesAtOnce === true && (await pollUntilChanged(context, isRemoved))
    ? noContent()
    : acceptedEmpty()
}

function isProtected({ spec }: RecordOf<AnyKind>): boolean {
  return (spec as { deletionProtection?: boolean }).deletionProtection === true
}

/** @throws PlatformError DELETION_PROTECTED */
function refuseProtected(object: RecordOf<AnyKind>): void {
  if (!isProtected(object)) return
  const message = `"${object.metadata.name}" is protected from deletion: set deletionProtection to false first.`
  throw new PlatformError('DELETION_PROTECTED', message)
}

function shown<K extends AnyKind>(
  object: RecordOf<K>,
  location: ResourceLocation,
  context: Context,
  { texts }: Pick<DeclaredResource<K>, 'texts'>,
  answer: typeof ok,
): Answer {
  const view = createViewBuilder<K>(context.services, location.boundaryId)(object, location.resourceGroup)
  const { status } = answer(undefined)
  return { status, headers: { etag: etagOf(object) }, parts: [texts.textOf(view)] }
}
