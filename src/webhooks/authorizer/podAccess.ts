import type { ReferencedRight } from '../../contracts/references.ts'
import { type ActionName, isKnownAction } from '../../core/actions.ts'
import type { AnyKind } from '../../crds/define.ts'

/** The resource of a pod. Its containers hold data that needs the `referencedRights`, at other resources. */
export type PodOwner = {
  readonly kind: string
  readonly name: string
  readonly referencedRights?: readonly ReferencedRight[]
}
/** Returns the owner from the labels that its controller set; undefined for any other pod. */
export type OwnerOfPod = (namespace: string, pod: string) => PodOwner | undefined
/** Returns the rights for what a pod received when it was created, even if its resource no longer refers to it. */
export type GivenToPod = (namespace: string, pod: string) => Promise<readonly ReferencedRight[]>

/**
 * The rights that each way into a pod needs, below the prefix of its kind. Logs need readLogs, as in REST. A command,
 * an attached terminal or a forwarded port reaches everything in the container: files, environment, identity. So it
 * needs both rights on files, `write`, with which one may run anything in the container anyway, and the rights on all
 * that the environment refers to, because `write` may not change what runs without them.
 */
const CONTAINER_RIGHTS = ['write', 'readFiles', 'writeFiles']
const REQUIRED_RIGHTS = new Map<string, { verbs: readonly string[]; rights: readonly string[] }>([
  ['log', { verbs: ['get'], rights: ['readLogs'] }],
  // WebSocket connections arrive as GET, the older SPDY ones as POST.
  ...['exec', 'attach', 'portforward'].map(
    (way) => [way, { verbs: ['get', 'create'], rights: CONTAINER_RIGHTS }] as const,
  ),
])

/** Returns whether a request enters a pod, beyond reading its log. */
export function entersPod({ group, resource, subresource = '' }: PodQuestion): boolean {
  return (group ?? '') === '' && resource === 'pods' && REQUIRED_RIGHTS.get(subresource)?.rights === CONTAINER_RIGHTS
}

type PodQuestion = {
  readonly group?: string | undefined
  readonly resource?: string | undefined
  readonly subresource?: string | undefined
}

/**
 * Returns the actions that are all needed at the pod's resource; undefined if nobody may enter this way: another
 * subresource, or one for which REST has no action on the kind (the pods of a database are the platform's).
 */
export function actionsInsidePod(
  { actions: prefix }: Pick<AnyKind, 'actions'>,
  subresource: string,
  verb: string,
): readonly ActionName[] | undefined {
  const { verbs, rights } = REQUIRED_RIGHTS.get(subresource) ?? { verbs: [], rights: [] }
  if (prefix === undefined || !verbs.includes(verb)) return undefined
  const actions = rights.map((right) => `${prefix}/${right}`)
  return actions.every(isKnownAction) ? (actions as ActionName[]) : undefined
}
