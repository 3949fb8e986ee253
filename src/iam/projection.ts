import type { AnyKind } from '../crds/define.ts'
import { actionsOfKinds, gatherKubernetesForms } from './kubernetesForm.ts'
import { actionNames, compilePermissions, isSubset } from './permissions.ts'
import { BUILT_IN_ROLES, isAssignableBelowRoot, type Role } from './roles.ts'

/** What a projected role grants in a namespace: verbs on a resource. Subresources are written `<plural>/<name>`. */
export type ProjectedRight = {
  resource: { group: string; plural: string }
  verbs: readonly string[]
  resourceNames?: readonly string[]
}

export type ProjectedRole = { displayName: string; clusterRole: string; rights: readonly ProjectedRight[] }

const READ = ['get', 'list', 'watch'] as const
/** Lets readers of a group see how its resources run: no other built-in kinds of Kubernetes, and no writes. */
const RUNNING: readonly ProjectedRight[] = [
  ...['pods', 'services', 'events'].map((plural) => ({ resource: { group: '', plural }, verbs: READ })),
  { resource: { group: 'events.k8s.io', plural: 'events' }, verbs: READ },
]

/**
 * Returns the built-in roles as ClusterRoles that the controllers may bind in the namespaces of boundaries and groups:
 * the upper limit of what projection grants. Roles without a Kubernetes form are left out. Custom roles are not
 * projected, because otherwise anyone who can write one could raise the limit.
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

/** Returns the verb `grant` on the built-in roles that this role includes; a Platform Owner may grant any. */
function grantsOf(role: Role): ProjectedRight {
  const held = compilePermissions(role).belowRoot
  const grantable = BUILT_IN_ROLES.filter(isAssignableBelowRoot).filter(
    (other) => role.displayName === 'Platform Owner' || isSubset(compilePermissions(other).belowRoot, held),
  )
  const resource = { group: 'iam.freehold.dev', plural: 'roledefinitions' }
  return { resource, verbs: ['grant'], resourceNames: grantable.map(({ displayName }) => displayName) }
}

function clusterRoleOf({ name }: Pick<Role, 'name'>): string {
  return `freehold-project-${name}`
}
