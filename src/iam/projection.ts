import type { AnyKind } from '../crds/define.ts'
import { actionsOfKinds, gatherKubernetesForms } from './kubernetesForm.ts'
import { actionNames, compilePermissions, isSubset } from './permissions.ts'
import { BUILT_IN_ROLES, isAssignableBelowRoot, type Role } from './roles.ts'

/** What a projected role gives in a namespace: verbs on a resource, subresources as `<plural>/<name>`. */
export type ProjectedRight = {
  resource: { group: string; plural: string }
  verbs: readonly string[]
  resourceNames?: readonly string[]
}

export type ProjectedRole = { displayName: string; clusterRole: string; rights: readonly ProjectedRight[] }

const READ = ['get', 'list', 'watch'] as const
/** How resources run, for readers of the group: never more of Kubernetes' own kinds, and never to change them. */
const RUNNING: readonly ProjectedRight[] = [
  ...['pods', 'services', 'events'].map((plural) => ({ resource: { group: '', plural }, verbs: READ })),
  { resource: { group: 'events.k8s.io', plural: 'events' }, verbs: READ },
]

/**
 * The built-in roles as ClusterRoles, which the controllers may bind in the namespaces of boundaries and groups: the
 * ceiling of what projection gives. Roles without any Kubernetes form are left out; custom roles are not projected, or
 * the ceiling would be whatever somebody writes into one.
 */
export function projectedRoles(kinds: readonly AnyKind[]): ProjectedRole[] {
  const forms = gatherKubernetesForms(actionsOfKinds(kinds.filter(({ placement }) => placement !== 'cluster')))
  return BUILT_IN_ROLES.map((role) => {
    const held = actionNames(compilePermissions(role).belowRoot)
    const ofKinds = held.flatMap((action) =>
      forms.formsOf(action).map(({ group, resource, verbs }) => ({ resource: { group, plural: resource }, verbs })),
    )
    const running = held.includes('resourcegroups/read') ? RUNNING : []
    const grants = held.includes('boundaries/members/manage') ? [grantsOf(role)] : []
    return {
      displayName: role.displayName,
      clusterRole: clusterRoleOf(role),
      rights: [...ofKinds, ...running, ...grants],
    }
  }).filter(({ rights }) => rights.length > 0)
}

/** The virtual verb `grant` on the built-in roles that hold nothing that this one lacks; a Platform Owner gives any. */
function grantsOf(role: Role): ProjectedRight {
  const held = compilePermissions(role).belowRoot
  const given = BUILT_IN_ROLES.filter(isAssignableBelowRoot).filter(
    (other) => role.displayName === 'Platform Owner' || isSubset(compilePermissions(other).belowRoot, held),
  )
  const resource = { group: 'iam.freehold.dev', plural: 'roledefinitions' }
  return { resource, verbs: ['grant'], resourceNames: given.map(({ displayName }) => displayName) }
}

function clusterRoleOf({ name }: Pick<Role, 'name'>): string {
  return `freehold-project-${name}`
}
