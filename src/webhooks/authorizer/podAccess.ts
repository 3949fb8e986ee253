import type { ReferencedRight } from '../../contracts/references.ts'
import { type ActionName, isKnownAction } from '../../core/actions.ts'
import type { AnyKind } from '../../crds/define.ts'

/** The resource of a pod. Its containers were given what needs the rights in `sees`, at other resources of the group. */
export type PodOwner = {
  readonly kind: string
  readonly name: string
  readonly sees?: readonly ReferencedRight[]
}
/** By the labels that its controller gave it; undefined for any other pod. */
export type OwnerOfPod = (namespace: string, pod: string) => PodOwner | undefined
/** What a pod was given when it was made, which its resource may refer to no more, needs these rights. */
export type GivenToPod = (namespace: string, pod: string) => Promise<readonly ReferencedRight[]>

/**
 * What each way into a pod needs, below the prefix of its kind. A log is what REST shows with readLogs. A command, an
 * attached terminal or a forwarded port reaches all that the container has: its files, its environment, its identity. So it
 * needs both rights on files, `write`, with which one may have the container run anything, and the rights on all that the
 * environment refers to, without which `write` may not change what is run.
 */
const INSIDE = ['write', 'readFiles', 'writeFiles']
const NEEDS: Readonly<Record<string, { verbs: readonly string[]; rights: readonly string[] }>> = {
  log: { verbs: ['get'], rights: ['readLogs'] },
  // A WebSocket is asked for with GET, the older SPDY with POST.
  exec: { verbs: ['get', 'create'], rights: INSIDE },
  attach: { verbs: ['get', 'create'], rights: INSIDE },
  portforward: { verbs: ['get', 'create'], rights: INSIDE },
}

/** Whether a request enters a pod, beyond its log. */
export function entersPod({ group, resource, subresource = '' }: Asked): boolean {
  return (group ?? '') === '' && resource === 'pods' && NEEDS[subresource]?.rights === INSIDE
}

type Asked = {
  readonly group?: string | undefined
  readonly resource?: string | undefined
  readonly subresource?: string | undefined
}

/**
 * The actions that must all be held at the resource of the pod; undefined if nobody is let in this way: the subresource is
 * another one, or REST has no such action for the kind (a database's pods are the platform's).
 */
export function actionsInsidePod(
  { actions: prefix }: Pick<AnyKind, 'actions'>,
  subresource: string,
  verb: string,
): readonly ActionName[] | undefined {
  const { verbs, rights } = NEEDS[subresource] ?? { verbs: [], rights: [] }
  if (prefix === undefined || !verbs.includes(verb)) return undefined
  const actions = rights.map((right) => `${prefix}/${right}`)
  return actions.every(isKnownAction) ? (actions as ActionName[]) : undefined
}
