import { ACTIONS, type ActionName, isKnownAction } from '../core/actions.ts'
import type { AnyKind } from '../crds/define.ts'

/** A verb of the API server, or a virtual verb (`readsecrets`, `grant`), which only authorizers are asked about. */
export type KubernetesVerb = string

/**
 * Declares once, for one kind, which verbs on its resource need which action. ClusterRoles, the mapping of access
 * reviews and the field policy are derived from it. Actions that no kind declares exist in REST only.
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
  /** Returns the form of the action for each kind that declares it; empty if it exists in REST only. */
  formsOf(action: ActionName): readonly KubernetesForm[]
  /** Returns the action that a request to the API server needs; undefined, and so denied, if no kind declares it. */
  actionOf(group: string, resource: string, verb: KubernetesVerb): ActionName | undefined
}

const VERB = /^[a-z]+$/

/** The verbs by suffix of an action. A data action becomes a virtual verb: `readSecrets` is `readsecrets`. */
const STANDARD_VERBS: Readonly<Record<string, readonly KubernetesVerb[]>> = {
  read: ['get', 'list', 'watch'],
  write: ['create', 'update', 'patch'],
  delete: ['delete', 'deletecollection'],
}

type DeclaringKind = Pick<AnyKind, 'resource' | 'actions' | 'forms' | 'scale'>

/**
 * Expands the declarations of the kinds: the standard forms of the actions below their prefix, overridden by the
 * explicit forms. Throws RangeError for an unknown action.
 */
export function actionsOfKinds(kinds: Iterable<DeclaringKind>): KindActions[] {
  return [...kinds].flatMap((kind) => {
    const { group, plural } = kind.resource
    const own = declared(kind.resource, { ...standardForms(kind.actions), ...kind.forms })
    if (kind.scale === undefined || kind.actions === undefined) return [own]
    const [read, scale] = [`${kind.actions}/read`, `${kind.actions}/scale`]
    return [own, { group, resource: `${plural}/scale`, verbs: { [read]: ['get'], [scale]: ['update', 'patch'] } }]
  })
}

/** Returns what the kinds declare for objects in the platform's own namespace, which are checked at the root. */
export function actionsInPlatform(kinds: Iterable<Pick<AnyKind, 'resource' | 'platformForms'>>): KindActions[] {
  return [...kinds].map(({ resource, platformForms = {} }) => declared(resource, platformForms))
}

function declared({ group, plural }: DeclaringKind['resource'], verbs: KindActions['verbs']): KindActions {
  const unknown = Object.keys(verbs).find((name) => !isKnownAction(name))
  if (unknown !== undefined)
    throw new RangeError(`${plural}.${group} declares ${unknown}, which is not a known action.`)
  return { group, resource: plural, verbs }
}

function standardForms(prefix: string | undefined): Record<string, readonly KubernetesVerb[]> {
  const forms: Record<string, readonly KubernetesVerb[]> = {}
  for (const { name, isData } of ACTIONS) {
    if (prefix === undefined || !name.startsWith(`${prefix}/`)) continue
    const rest = name.slice(prefix.length + 1)
    const verbs = isData && !rest.includes('/') ? [rest.toLowerCase()] : STANDARD_VERBS[rest]
    if (verbs !== undefined) forms[name] = verbs
  }
  return forms
}

/**
 * Collects the declarations of all kinds. Throws RangeError if two actions claim one verb of a resource, since a
 * request would need both or either, or if a verb is not a lower-case word (`*` would include verbs that are added
 * later).
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
