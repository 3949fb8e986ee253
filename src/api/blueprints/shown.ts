import type { Template } from '../../contracts/blueprints/template.ts'
import type { ParsedTemplate } from '../../contracts/blueprints/validate.ts'
import type { ActionName } from '../../core/actions.ts'
import { BLUEPRINT_COLLECTIONS } from '../../crds/blueprintCollections.ts'
import { planFieldOf } from './bodies.ts'

/** What the catalogue shows of a parsed template: a small part of it, which is kept when the rest is not. */
export type ShownTemplate = Pick<ParsedTemplate, 'head'> &
  Pick<Template, 'parameters'> & {
    readonly isValid: boolean
    readonly category: Template['category'] | undefined
    readonly components: readonly ShownComponent[]
    readonly outputs: readonly Pick<Template['outputs'][number], 'name' | 'secret'>[]
    /** What deploying needs in the group. */
    readonly permissions: readonly ActionName[]
  }

type ShownComponent = Pick<Template['components'][number], 'name' | 'collection'> & {
  readonly computePlan: string | null
  readonly replicas: number | null
}

export function shownOf({ template, problems, head }: ParsedTemplate): ShownTemplate {
  return {
    head,
    isValid: template !== undefined && !problems.some(({ severity }) => severity === 'Error'),
    category: template?.category,
    parameters: template?.parameters ?? [],
    components: (template?.components ?? []).map(componentOf),
    outputs: (template?.outputs ?? []).map(({ name, secret }) => ({ name, secret })),
    permissions: template === undefined ? [] : permissionsOf(template),
  }
}

export function permissionsOf({ components }: Template): ActionName[] {
  const actions = components.flatMap(({ collection }) => BLUEPRINT_COLLECTIONS.get(collection)?.action ?? [])
  return [...new Set(actions)].sort()
}

function componentOf({ name, collection, spec }: Template['components'][number]): ShownComponent {
  const { replicas } = spec
  const isCount = typeof replicas === 'number' && Number.isSafeInteger(replicas)
  const computePlan = textIn(spec, planFieldOf(collection, spec))
  return { name, collection, computePlan, replicas: isCount ? replicas : null }
}

const textIn = (spec: Readonly<Record<string, unknown>>, field: string) => {
  const value = spec[field]
  return typeof value === 'string' ? value : null
}
