import type { TemplateProblem } from '../../contracts/blueprints/template.ts'
import type { ParsedTemplate } from '../../contracts/blueprints/validate.ts'
import { isRecord } from '../../core/isRecord.ts'
import { planFor } from '../../core/sizing/plans.ts'
import { suggestion } from '../../core/suggestion.ts'
import { BLUEPRINT_COLLECTIONS } from '../../crds/blueprintCollections.ts'
import { ComputePlan } from '../../crds/plans.ts'
import type { Services } from '../http/context.ts'
import { PLAN_FIELDS } from './bodies.ts'

type NamedPlan = { readonly plan: string; readonly family: string; readonly path: string }

/**
 * Returns warnings for plans that the template names and that do not exist. Not errors, because an administrator may
 * create them. Plans are global; other references cannot be checked, because a template is used in many groups.
 */
export function missingPlans({ records }: Pick<Services, 'records'>, read: ParsedTemplate): TemplateProblem[] {
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
