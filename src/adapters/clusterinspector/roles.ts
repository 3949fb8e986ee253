import type { KubeObject } from '../../core/object.ts'
import { pluralize } from '../../core/pluralize.ts'
import type { RoleRule, WantedRoles } from './port.ts'

/** A ClusterRole that differs from the wanted one. */
export type RoleChange = {
  readonly name: string
  /** The stored role; undefined if it does not exist. */
  readonly stored: KubeObject | undefined
  readonly rules: readonly RoleRule[]
  readonly added: readonly RoleRule[]
  readonly removed: readonly RoleRule[]
}

/** Compares the granted rights, however the rules group them. */
export function roleChanges(wanted: WantedRoles, found: readonly KubeObject[]): RoleChange[] {
  const stored = new Map((found as (KubeObject & { rules?: RoleRule[] })[]).map((role) => [role.metadata.name, role]))
  return Object.entries(wanted).flatMap(([name, rules]) => {
    const role = stored.get(name)
    const [should, is] = [expandRules(rules), expandRules(role?.rules ?? [])]
    const added = groupRules([...should].filter((one) => !is.has(one)))
    const removed = groupRules([...is].filter((one) => !should.has(one)))
    const isSame = role !== undefined && added.length === 0 && removed.length === 0
    return isSame ? [] : [{ name, stored: role, rules, added, removed }]
  })
}

/** Groups single rights into one rule per resource. */
function groupRules(single: readonly string[]): RoleRule[] {
  const verbs = new Map<string, string[]>()
  for (const one of single) {
    const at = one.lastIndexOf(' ')
    const place = one.slice(0, at)
    verbs.set(place, [...(verbs.get(place) ?? []), one.slice(at + 1)])
  }
  return [...verbs].map(([place, held]) => {
    const [group = '', resource = '', ...name] = place.split(' ')
    const resourceName = name.join(' ')
    return {
      ...{ apiGroups: [group], resources: [resource], verbs: held },
      ...(resourceName !== '*' && { resourceNames: [resourceName] }),
    }
  })
}

/** Expands rules into one string per verb and resource, so that their grouping does not matter. */
function expandRules(rules: readonly RoleRule[]): Set<string> {
  const all = rules.flatMap(({ apiGroups, resources, verbs, resourceNames = ['*'] }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        resourceNames.flatMap((name) => verbs.map((verb) => [group, resource, name, verb].join(' '))),
      ),
    ),
  )
  return new Set(all)
}

/** Says in sentences what each role lacks. */
export function lackingRules(wanted: WantedRoles, found: readonly KubeObject[]): string[] {
  return roleChanges(wanted, found).flatMap(({ name, stored, added }) => {
    if (stored === undefined) return [`ClusterRole ${name} is missing`]
    const count = added.reduce((sum, { verbs }) => sum + verbs.length, 0)
    return count === 0 ? [] : [`${name} lacks ${pluralize(count, 'right')}`]
  })
}
