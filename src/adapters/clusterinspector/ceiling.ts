import { kubeFailureOf } from '../../core/kubeFailure.ts'
import type { KubeObject, Resource } from '../../core/object.ts'
import type { KubeClient } from '../../kube/client.ts'
import type { RoleRule, WantedRoles } from './port.ts'
import { type RoleChange, roleChanges } from './roles.ts'

/** The ClusterRoles that bound what projected assignments may grant. */
export interface RoleCeiling {
  /** Returns what differs from this release's roles. @throws KubeError if they cannot be read */
  changes(): Promise<readonly RoleChange[]>
  /**
   * Applies the changes with the caller's rights: the platform itself may not, or it could escalate its own.
   *
   * @returns false if the API server refuses the caller, or does not know such tokens
   * @throws KubeError for any other error
   */
  apply(authorization: string, changes: readonly RoleChange[]): Promise<boolean>
}

export type CeilingOptions = {
  client: Pick<KubeClient, 'list'>
  /** Creates a client with this Authorization header as its only credential. */
  clientAs: (authorization: string) => Pick<KubeClient, 'create' | 'mergePatch' | 'close'>
  roles: WantedRoles
  /** The ClusterRole type. */
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
  const { reason } = kubeFailureOf(error) ?? {}
  return reason === 'Forbidden' || reason === 'Unauthorized'
}

function newRole({ group, version, kind }: Resource, name: string, rules: readonly RoleRule[]): KubeObject {
  return { apiVersion: `${group}/${version}`, kind, metadata: { name }, rules } as KubeObject
}
