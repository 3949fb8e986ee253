import { z } from 'zod'
import { FINALIZER } from '../../core/labels.ts'
import { groupNamespace } from '../../core/names.ts'
import type { AnyKind } from '../../crds/define.ts'
import { type Answer, acceptedEmpty, created, noContent, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf, versionOf } from '../http/etag.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import type { RecordOf } from '../records/records.ts'
import { ListConfigDto, pagedListOf } from './dto.ts'
import { listConfig, planChoices } from './listConfig.ts'
import {
  findBoundary,
  findGroup,
  findResource,
  groupsOfBoundary,
  locate,
  type Place,
  placeOf,
  viewMaker,
} from './places.ts'
import { underPlatformName } from './platformNames.ts'
import { powerRoutes } from './powerRoutes.ts'
import { underQuota } from './quota.ts'
import { RecordTexts } from './recordTexts.ts'
import { listResources } from './resourceList.ts'
import { resourceShape } from './shape.ts'
import { type AnyDeclaration, actionOf, type GenericRoute } from './types.ts'
import { checkNewName, specForCreate, specForUpdate } from './writes.ts'

/** The generic routes of section 4.2 of the interface for one kind. */
export function genericRoutes<K extends AnyKind>(kind: K, given: unknown): RouteDraft[] {
  const declaration = given as AnyDeclaration<K>
  const routes = [
    ...readRoutes(kind, declaration),
    ...writeRoutes(kind, declaration),
    ...powerRoutes(kind, declaration),
  ]
  return routes.filter(([name]) => !(declaration.omit ?? []).includes(name)).map(([, draft]) => draft)
}

export type Named = readonly [GenericRoute, RouteDraft]

function readRoutes<K extends AnyKind>(kind: K, declaration: AnyDeclaration<K>): Named[] {
  const { segment, actionPrefix, plural, singular, dto, answers = {} } = declaration
  const parameter = declaration.parameter ?? 'name'
  const auth = action(actionOf(actionPrefix, 'read'))
  const [inGroup, across] = [resourceShape(declaration, false), resourceShape(declaration, true)]
  const texts = textsOf(declaration)
  const page: z.ZodType = pagedListOf(dto)
  const reply: z.ZodType = dto
  const group = `{RG}/${segment}` as string
  const all = `{B}/resources/${segment}` as string

  const listGroup = async (context: Context): Promise<Answer> => {
    const { boundaryId, resourceGroup } = placeOf(context, parameter)
    await findGroup(context, boundaryId, resourceGroup)
    const homes = [{ name: resourceGroup, namespace: groupNamespace(boundaryId, resourceGroup) }]
    return listResources(kind, declaration, texts, { context, boundaryId, homes, shape: inGroup })
  }
  const listBoundary = async (context: Context): Promise<Answer> => {
    const { boundaryId } = placeOf(context, parameter)
    await findBoundary(context, boundaryId)
    const homes = groupsOfBoundary(context.services, boundaryId)
    return listResources(kind, declaration, texts, { context, boundaryId, homes, shape: across })
  }
  const config = (isAcross: boolean) => async (context: Context) => {
    const { boundaryId, resourceGroup } = placeOf(context, parameter)
    await (isAcross ? findBoundary(context, boundaryId) : findGroup(context, boundaryId, resourceGroup))
    return ok(
      listConfig(isAcross ? across : inGroup, {
        collection: segment,
        context,
        enumerations: declaration.enumerations ?? {},
        plans: kind.sized === undefined ? [] : planChoices(context.services, kind.sized),
        limits:
          declaration.scale === undefined ? {} : { minScale: declaration.scale.min, maxScale: declaration.scale.max },
        actionPrefix,
      }),
    )
  }
  return [
    [
      'list',
      route(
        'GET',
        group,
        {
          auth,
          operation: `List${plural}`,
          summary: `List in a resource group`,
          list: inGroup,
          reply: page,
          answers: answers.list ?? [200],
        },
        listGroup,
      ),
    ],
    [
      'config',
      route(
        'GET',
        `${group}/config` as string,
        {
          auth,
          operation: `Get${plural}Config`,
          summary: 'What the list can be asked for',
          reply: ListConfigDto,
          answers: answers.config ?? [200],
        },
        config(false),
      ),
    ],
    [
      'get',
      route(
        'GET',
        `${group}/{${parameter}}` as string,
        { auth, operation: `Get${singular}`, summary: `Read one`, reply, answers: answers.get ?? [200, 404] },
        async (context) => {
          const { object, place } = await findResource(kind, context, parameter, declaration)
          return shown(object, place, context, declaration, ok)
        },
      ),
    ],
    [
      'listAll',
      route(
        'GET',
        all,
        {
          auth,
          operation: `ListAll${plural}`,
          summary: 'List across the groups of a boundary',
          list: across,
          reply: page,
          answers: answers.listAll ?? [200],
        },
        listBoundary,
      ),
    ],
    [
      'configAll',
      route(
        'GET',
        `${all}/config` as string,
        {
          auth,
          operation: `GetAll${plural}Config`,
          summary: 'What the list across groups can be asked for',
          reply: ListConfigDto,
          answers: answers.configAll ?? [200],
        },
        config(true),
      ),
    ],
  ]
}

function writeRoutes<K extends AnyKind>(kind: K, declaration: AnyDeclaration<K>): Named[] {
  const { segment, actionPrefix, singular, dto, answers = {} } = declaration
  const parameter = declaration.parameter ?? 'name'
  const path = `{RG}/${segment}/{${parameter}}` as string
  const auth = action(actionOf(actionPrefix, 'write'))
  const reply: z.ZodType = dto
  const body = declaration.body.loose()
  const update = (form: 'put' | 'patch') => async (context: Context) => {
    const { ref, place } = await locate(context, parameter)
    const { object } = await underQuota(kind, place, context, (reserve) =>
      context.services.records.update(kind, ref, {
        caller: context.caller,
        ifMatch: context.ifMatch,
        change: async (stored) => {
          const spec = specForUpdate(kind, context, place, declaration, stored, form)
          await reserve(spec)
          return spec
        },
      }),
    )
    return shown(object, place, context, declaration, ok)
  }
  return [
    [
      'create',
      route(
        'POST',
        path,
        {
          auth,
          operation: `Create${singular}`,
          summary: 'Create; the same body again answers 200',
          body,
          reply,
          answers: answers.create ?? [200, 201, 400, 409],
        },
        async (context) => {
          const { ref, place } = await locate(context, parameter)
          checkNewName(place.name, context.services.reservedNames)
          const spec = specForCreate(context, place, declaration)
          const create = (incarnation?: string) =>
            context.services.records.create(kind, {
              ...ref,
              spec,
              caller: context.caller,
              incarnation,
              ...(declaration.hasFinalizer === true && { finalizers: [FINALIZER] }),
            })
          const { nameTaken: taken = 'ALREADY_EXISTS' } = declaration
          const { object, isNew } = await underQuota(kind, place, context, async (reserve) => {
            await reserve(spec)
            if (kind.uniqueName === undefined) return create()
            return underPlatformName(kind, ref, { type: kind.uniqueName, taken }, context, create)
          })
          return shown(object, place, context, declaration, isNew ? created : ok)
        },
      ),
    ],
    [
      'update',
      route(
        'PUT',
        path,
        {
          auth,
          operation: `Update${singular}`,
          summary: 'Replace the writable fields',
          body,
          reply,
          answers: answers.update ?? [200, 400, 404],
        },
        update('put'),
      ),
    ],
    [
      'patch',
      route(
        'PATCH',
        path,
        {
          auth,
          operation: `Patch${singular}`,
          summary: 'JSON Merge Patch (RFC 7396) of the record',
          body: z.unknown(),
          mediaTypes: ['application/merge-patch+json', 'application/json'],
          reply,
          answers: answers.patch ?? [200, 400, 404],
        },
        update('patch'),
      ),
    ],
    [
      'delete',
      route(
        'DELETE',
        path,
        {
          auth: action(actionOf(actionPrefix, 'delete')),
          operation: `Delete${singular}`,
          summary: 'Delete; 202 while something is still torn down',
          query: z.strictObject(
            'onDelete' in kind.spec.shape ? { keepData: z.enum(['true', 'false']).optional() } : {},
          ),
          answers: answers.delete ?? [200, 202, 204, 404],
        },
        async (context) => {
          const { object, place, ref } = await findResource(kind, context, parameter, declaration)
          await declaration.beforeDelete?.(
            viewMaker<K>(context.services, place.boundaryId)(object, place.resourceGroup),
          )
          const { caller, ifMatch, services } = context
          if ((context.query as { keepData?: string } | undefined)?.keepData === 'true') {
            const { object: kept } = await services.records.update(kind, ref, {
              caller,
              ifMatch,
              change: ({ spec }) => ({ ...spec, onDelete: 'Retain' }),
            })
            // Of this very version, so as not to overrule an opposite request in between.
            const { isGone } = await services.records.remove(kind, ref, {
              caller,
              ifMatch: [versionOf(kept)],
            })
            return isGone ? noContent() : acceptedEmpty()
          }
          const { isGone } = await services.records.remove(kind, ref, { caller, ifMatch })
          return isGone ? noContent() : acceptedEmpty()
        },
      ),
    ],
  ]
}

const TEXTS = new WeakMap<object, unknown>()

/** One store of texts for all routes of a kind. */
function textsOf<K extends AnyKind>(declaration: AnyDeclaration<K>): RecordTexts<K> {
  const known = TEXTS.get(declaration) as RecordTexts<K> | undefined
  const texts = known ?? new RecordTexts<K>(declaration.toDto, declaration.dependsOn)
  TEXTS.set(declaration, texts)
  return texts
}

function shown<K extends AnyKind>(
  object: RecordOf<K>,
  place: Place,
  context: Context,
  declaration: AnyDeclaration<K>,
  answer: typeof ok,
): Answer {
  const view = viewMaker<K>(context.services, place.boundaryId)(object, place.resourceGroup)
  const { status } = answer(undefined)
  return { status, headers: { etag: etagOf(object) }, parts: [textsOf(declaration).textOf(view)] }
}
