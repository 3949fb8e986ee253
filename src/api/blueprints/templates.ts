import { z } from 'zod'
import { OWN_TEMPLATES_MAX } from '../../contracts/blueprints/sources.ts'
import { isLaterTemplateVersion, type TemplateProblem } from '../../contracts/blueprints/template.ts'
import { type ParsedTemplate, PROBLEMS_MAX } from '../../contracts/blueprints/validate.ts'
import { notFound, PlatformError } from '../../core/errors.ts'
import { isRecord } from '../../core/isRecord.ts'
import { boundaryNamespace, isUuid } from '../../core/names.ts'
import { planFor } from '../../core/sizing/plans.ts'
import { suggestion } from '../../core/suggestion.ts'
import { BLUEPRINT_COLLECTIONS } from '../../crds/blueprintCollections.ts'
import { BlueprintTemplate } from '../../crds/blueprints.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { created, noContent, ok } from '../http/answer.ts'
import type { Context, Services } from '../http/context.ts'
import { etagOf, nothingToMatch } from '../http/etag.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { inBoundary } from '../resources/collection/parents.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { withChangeLock } from '../rules/changeLocks.ts'
import { PLAN_FIELDS } from './bodies.ts'
import { blueprintOf, findBlueprint, readCheckedTemplate, requireValid, TemplateProblemDto } from './catalogue.ts'
import { BlueprintDto, blueprintDto } from './record.ts'

export const TemplateContent = strictRecord('TemplateContent', {
  content: z.string().describe('A template as YAML or JSON, at most 256 KiB'),
})
type Given = Context<string, unknown, z.output<typeof TemplateContent>>

export const TemplateValidationDto = namedRecord('TemplateValidationDto', {
  isValid: z.boolean(),
  slug: z.string().nullable(),
  problems: z.array(TemplateProblemDto),
  blueprint: BlueprintDto.nullable().describe('As the catalogue would show it; null if it is not valid'),
})

/** POST .../templates/validate. Writes nothing. */
export async function validateTemplate(context: Given) {
  const { boundaryId } = await inBoundary(context as Context)
  const { content } = context.body
  const read = await readCheckedTemplate(content)
  const { template } = read
  const problems = [...read.problems, ...missingPlans(context.services, read)].slice(0, PROBLEMS_MAX)
  const isValid = template !== undefined && !problems.some(isError)
  const slug = template?.slug ?? null
  const blueprint =
    template !== undefined && isValid ? await preview(context, boundaryId, template.slug, content) : null
  return ok({ isValid, slug, problems, blueprint })
}

const isError = ({ severity }: TemplateProblem) => severity === 'Error'

/** Returns the record that the template would have if it were stored. */
async function preview(context: Given, boundaryId: string, slug: string, content: string): Promise<BlueprintDto> {
  const { apiVersion, kind } = BlueprintTemplate
  const creationTimestamp = new Date(context.services.clock.now()).toISOString()
  const metadata = { name: slug, namespace: boundaryNamespace(boundaryId), creationTimestamp }
  const blueprint = await blueprintOf({ apiVersion, kind, metadata, spec: { slug, content } } as never)
  return blueprintDto(blueprint, context as Context, boundaryId)
}

/**
 * POST .../templates: creates or replaces the boundary's own template of that slug.
 * @throws PlatformError TEMPLATE_INVALID, VERSION_EXISTS
 */
export async function putTemplate(context: Given) {
  const parent = await inBoundary(context as Context)
  refuseWhileDeleting(parent.owner)
  const { services, caller } = context
  const { content } = context.body
  const template = requireValid(await readCheckedTemplate(content))
  const { slug } = template
  const { namespace, boundaryId } = parent
  const ref = { namespace, name: slug }
  const lock = { key: `blueprint templates ${namespace}`, sees: [{ kind: BlueprintTemplate, namespace }] }
  return withChangeLock(services, lock, async () => {
    const stored = await services.records.get(BlueprintTemplate, ref, { fresh: true })
    const spec = { slug, content }
    if (stored === undefined) {
      if (context.header('if-match') !== undefined) throw nothingToMatch()
      refuseTooMany(services, namespace)
      const { object } = await services.records.create(BlueprintTemplate, { ...ref, spec, caller })
      const dto = blueprintDto(await blueprintOf(object), context as Context, boundaryId)
      // All templates are read below blueprints, wherever they come from.
      const location = `/boundaries/${boundaryId}/resources/blueprints/${slug}`
      return created(dto, { etag: etagOf(object), headers: { location } })
    }
    refuseWhileDeleting(stored)
    const before = (await readCheckedTemplate(stored.spec.content)).template
    if (
      stored.spec.content !== content &&
      before !== undefined &&
      !isLaterTemplateVersion(template.version, before.version)
    ) {
      const message = `Version ${before.version} of "${slug}" is already stored: give the changed template a later version.`
      throw new PlatformError('VERSION_EXISTS', message, { slug, version: before.version })
    }
    const { ifMatch } = context
    const request = { caller, ifMatch, change: () => spec, fresh: true }
    const { object } = await services.records.update(BlueprintTemplate, ref, request)
    return ok(blueprintDto(await blueprintOf(object), context as Context, boundaryId), { etag: etagOf(object) })
  })
}

/** @throws PlatformError QUOTA_EXCEEDED */
function refuseTooMany({ records }: Context['services'], namespace: string): void {
  const own = records.peekAll(BlueprintTemplate, { namespace }).filter(({ spec }) => spec.sourceId === undefined)
  if (own.length < OWN_TEMPLATES_MAX) return
  const message = `A boundary keeps at most ${OWN_TEMPLATES_MAX} templates of its own: delete one, or read them from a repository.`
  const extras = { quota: 'blueprintTemplates', limit: OWN_TEMPLATES_MAX, used: own.length, requested: 1 }
  throw new PlatformError('QUOTA_EXCEEDED', message, extras)
}

const OWNER_NAMES = { BuiltIn: 'the platform', Source: 'a source', Boundary: 'kubectl under another name' } as const

/** DELETE .../templates/{slug}. @throws PlatformError NOT_FOUND; NOT_OWNED if a source or the platform owns it */
export async function removeTemplate(context: Context) {
  const { namespace, boundaryId } = await inBoundary(context)
  const { services, caller, ifMatch } = context
  const slug = context.parameters.slug ?? ''
  const ref = { namespace, name: slug }
  const stored = await services.records.get(BlueprintTemplate, ref, { fresh: true })
  if (stored !== undefined) {
    await services.records.remove(BlueprintTemplate, ref, { caller, ifMatch })
    return noContent()
  }
  if (isUuid(slug)) throw notFound(`Template "${slug}" of boundary "${boundaryId}"`)
  const { origin, id: blueprintId } = await findBlueprint(services, boundaryId, slug)
  const message = `Template "${slug}" is kept by ${OWNER_NAMES[origin]}, not by this boundary.`
  throw new PlatformError('NOT_OWNED', message, { origin, blueprintId })
}

type NamedPlan = { readonly plan: string; readonly family: string; readonly path: string }

/**
 * Returns warnings for plans that the template names and that do not exist. Not errors, because an administrator may
 * create them. Plans are global; other references cannot be checked, because a template is used in many groups.
 */
function missingPlans({ records }: Pick<Services, 'records'>, read: ParsedTemplate): TemplateProblem[] {
  const { template, problemAt } = read
  if (template === undefined) return []
  const plans = records.peekAll(ComputePlan)
  const componentPlans = template.components.flatMap(({ collection, spec }, index) => {
    const family = BLUEPRINT_COLLECTIONS.get(collection)?.kind.sized
    return family === undefined ? [] : planNamesIn(spec, family, `/components/${index}/spec`)
  })
  const presets = template.parameters.flatMap(({ type, family, default: preset }, index) =>
    type === 'plan' && family !== undefined && typeof preset === 'string'
      ? [{ plan: preset, family, path: `/parameters/${index}/default` }]
      : [],
  )
  return [...presets, ...componentPlans].flatMap(({ plan, family, path }) => {
    if (planFor(family as never, { computePlan: plan }, plans)?.spec.family === family) return []
    const known = plans.filter(({ spec }) => spec.family === family).map(({ metadata }) => metadata.name)
    const message = `there is no compute plan "${plan}" of family ${family}${suggestion(plan, known)}`
    return [{ ...problemAt('SpecInvalid', path, message), severity: 'Warning' as const }]
  })
}

/** Yields the plans of the spec itself and of its components. */
function planNamesIn(spec: Readonly<Record<string, unknown>>, family: string, path: string): NamedPlan[] {
  const ownPlans = PLAN_FIELDS.flatMap((field) => {
    const plan = spec[field]
    return typeof plan === 'string' && !plan.includes('${') ? [{ plan, family, path: `${path}/${field}` }] : []
  })
  const parts = Array.isArray(spec.components) ? spec.components : []
  return [
    ...ownPlans,
    ...parts.flatMap((part, index) => (isRecord(part) ? planNamesIn(part, family, `${path}/components/${index}`) : [])),
  ]
}
