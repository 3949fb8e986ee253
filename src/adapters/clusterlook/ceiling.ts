import type { KubeObject, Resource } from '../../core/object.ts'
import type { KubeClient } from '../../kube/client.ts'
import { singleRules } from './facts.ts'
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

/** The ClusterRoles below which assignments are projected. */
export interface RoleCeiling {
  /** What would have to change for them to be as this release wants them. @throws KubeError if they cannot be read */
  changes(): Promise<readonly RoleChange[]>
  /**
   * Changes them with the rights of whoever has the token: the platform itself may not, or it could give itself any.
   *
   * @returns false if the API server refuses that caller, or does not know such tokens
   * @throws KubeError for everything else
   */
  apply(authorization: string, changes: readonly RoleChange[]): Promise<boolean>
}

export type CeilingOptions = {
  client: Pick<KubeClient, 'list'>
  /** A client with that Authorization header and no other credential. */
  clientAs: (authorization: string) => Pick<KubeClient, 'create' | 'mergePatch' | 'close'>
  roles: WantedRoles
  /** The type of roles. */
  type: Resource
}

export function kubeRoleCeiling({ client, clientAs, roles, type }: CeilingOptions): RoleCeiling {
  return {
    async changes() {
      return roleChanges(roles, (await client.list(type)).items)
    },
    async apply(authorization, changes) {
      const caller = clientAs(authorization)
      try {
        for (const { name, stored, rules } of changes) {
          if (stored === undefined) await caller.create(type, newRole(type, name, rules))
          else {
            const { uid, resourceVersion } = stored.metadata
            await caller.mergePatch(type, { name }, { rules }, { uid, resourceVersion })
          }
        }
        return true
      } catch (error) {
        if (isRefusal(error)) return false
        throw error
      } finally {
        await caller.close()
      }
    },
  }
}

function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error) || error.name !== 'KubeError') return false
  return ['Forbidden', 'Unauthorized'].includes((error as Error & { reason: string }).reason)
}

function newRole({ group, version, kind }: Resource, name: string, rules: readonly RoleRule[]): KubeObject {
  return { apiVersion: `${group}/${version}`, kind, metadata: { name }, rules } as KubeObject
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
