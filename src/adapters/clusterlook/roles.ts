import { counted } from '../../core/counted.ts'
import type { KubeObject } from '../../core/object.ts'
import type { RoleRule, WantedRoles } from './port.ts'

/** A ClusterRole that is not as it should be. */
export type RoleChange = {
  readonly name: string
  /** The stored role; undefined if it is to be made. */
  readonly stored: KubeObject | undefined
  readonly rules: readonly RoleRule[]
  readonly added: readonly RoleRule[]
  readonly removed: readonly RoleRule[]
}

/** However rules are grouped: what one list gives and the other does not. */
export function roleChanges(wanted: WantedRoles, found: readonly KubeObject[]): RoleChange[] {
  const stored = new Map((found as (KubeObject & { rules?: RoleRule[] })[]).map((role) => [role.metadata.name, role]))
  return Object.entries(wanted).flatMap(([name, rules]) => {
    const role = stored.get(name)
    const [should, is] = [singleRules(rules), singleRules(role?.rules ?? [])]
    const added = gathered([...should].filter((one) => !is.has(one)))
    const removed = gathered([...is].filter((one) => !should.has(one)))
    const isSame = role !== undefined && added.length === 0 && removed.length === 0
    return isSame ? [] : [{ name, stored: role, rules, added, removed }]
  })
}

/** Rules of one resource each, from single verbs. */
function gathered(single: readonly string[]): RoleRule[] {
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

/** One rule for each verb on each resource, so that rules can be compared however they are grouped. */
function singleRules(rules: readonly RoleRule[]): Set<string> {
  const all = rules.flatMap(({ apiGroups, resources, verbs, resourceNames = ['*'] }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        resourceNames.flatMap((name) => verbs.map((verb) => [group, resource, name, verb].join(' '))),
      ),
    ),
  )
  return new Set(all)
}

/** What each role lacks, as sentences. */
export function lackingRules(wanted: WantedRoles, found: readonly KubeObject[]): string[] {
  return roleChanges(wanted, found).flatMap(({ name, stored, added }) => {
    if (stored === undefined) return [`ClusterRole ${name} is missing`]
    const count = added.reduce((sum, { verbs }) => sum + verbs.length, 0)
    return count === 0 ? [] : [`${name} lacks ${counted(count, 'right')}`]
  })
}
