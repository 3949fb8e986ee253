import type { ActionName } from './actions.ts'

/** A verb of the API server, or a virtual one of ours (`readsecrets`, `grant`) that only authorizers are asked about. */
export type KubernetesVerb = string

/**
 * What one kind says about its actions, once: which verbs on its resource need which action. ClusterRoles, the mapping
 * of access reviews and the field policy all come from it. Actions that no kind names are REST only.
 */
export type KindActions = {
  readonly group: string
  readonly resource: string
  readonly verbs: Readonly<Partial<Record<ActionName, readonly KubernetesVerb[]>>>
}

export type KubernetesForm = {
  readonly group: string
  readonly resource: string
  readonly verbs: readonly KubernetesVerb[]
}

export type KubernetesForms = {
  /** What the action is in Kubernetes: a form for each kind that names it; empty for an action that is REST only. */
  formsOf(action: ActionName): readonly KubernetesForm[]
  /** The action that a request to the API server needs; undefined for what no kind declares, which nobody is allowed. */
  actionOf(group: string, resource: string, verb: KubernetesVerb): ActionName | undefined
}

const VERB = /^[a-z]+$/

/**
 * Gathers the declarations of all kinds. Throws RangeError if two actions claim one verb of a resource, because a
 * request would then need both or either, or if a verb is not a lower-case word (`*` would give what comes later too).
 */
export function gatherKubernetesForms(kinds: Iterable<KindActions>): KubernetesForms {
  const forms = new Map<string, KubernetesForm[]>()
  const actions = new Map<string, ActionName>()
  for (const { group, resource, verbs: byAction } of kinds) {
    for (const [name, verbs] of Object.entries(byAction)) {
      const action = name as ActionName
      forms.set(action, [...(forms.get(action) ?? []), { group, resource, verbs }])
      for (const verb of verbs) {
        if (!VERB.test(verb))
          throw new RangeError(`The verb ${JSON.stringify(verb)} of ${resource}.${group} is not a lower-case word.`)
        const key = `${group}/${resource}/${verb}`
        const other = actions.get(key)
        if (other !== undefined)
          throw new RangeError(
            `${verb} on ${resource}.${group} is claimed by ${other} and by ${action}: declare it once.`,
          )
        actions.set(key, action)
      }
    }
  }
  return {
    formsOf: (action) => forms.get(action) ?? [],
    actionOf: (group, resource, verb) => actions.get(`${group}/${resource}/${verb}`),
  }
}
