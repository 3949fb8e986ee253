import { OWNER_KIND_LABEL, OWNER_NAME_LABEL } from '../../core/labels.ts'
import { childName } from '../../core/names.ts'
import type { KubeObject, ObjectMeta, Resource } from '../../core/object.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { EffectivePlan } from '../../core/sizing/plans.ts'
import type { AnyKind } from '../../crds/define.ts'
import { pod } from '../../kube/builtin.ts'
import type { Pass } from '../engine/controller.ts'
import type { Claim, Pod } from './types.ts'

/** The claim template of every StatefulSet of ours; claims are `storage-<stateful set>-<ordinal>`. */
export const VOLUME = 'storage'

/** A pass over a kind that runs as a StatefulSet with a volume for each pod. */
export type StatefulPass = Pick<Pass, 'incarnation' | 'records' | 'workloads' | 'children'> & {
  readonly kind: Pick<AnyKind, 'kind' | 'shortNames'>
  readonly object: { metadata: ObjectMeta; spec: { readonly onDelete?: unknown } }
  readonly state: {
    plan: EffectivePlan | undefined
    /** The claims that exist, by ordinal. */
    claims: ReadonlyMap<number, Claim>
    /** Why volumes are not yet as asked for. */
    volumes: Outcome | undefined
  }
}

export function placeOfStateful({ object }: Pick<StatefulPass, 'object'>): { namespace: string; name: string } {
  const { namespace = '', name } = object.metadata
  return { namespace, name }
}

export function planOfStateful({ state }: StatefulPass): EffectivePlan {
  if (state.plan === undefined) throw new Error('The plan must be resolved before.')
  return state.plan
}

/** The name of the StatefulSet: `<short name>-<name>`. */
export function workloadOf({ kind, object }: Pick<StatefulPass, 'kind' | 'object'>): string {
  return childName(kind.shortNames[0] ?? '', object.metadata.name)
}

/** The ordinal of a claim or pod of this resource; undefined for anybody else's name. */
export function ordinalOf(pass: Pick<StatefulPass, 'kind' | 'object'>, podOrClaim: string): number | undefined {
  const workload = workloadOf(pass)
  for (const stem of [`${VOLUME}-${workload}-`, `${workload}-`]) {
    const rest = podOrClaim.startsWith(stem) ? podOrClaim.slice(stem.length) : ''
    if (/^(0|[1-9][0-9]{0,3})$/.test(rest)) return Number(rest)
  }
  return undefined
}

/** Pods of this resource that are still there, in any state. */
export function podsOfStateful(pass: StatefulPass): Pod[] {
  const { namespace } = placeOfStateful(pass)
  return pass.workloads
    .cache<Pod & KubeObject>(pod)
    .list({ namespace })
    .filter((each) => ordinalOf(pass, each.metadata.name) !== undefined)
}

/**
 * Pods or claims of this name that carry our labels, whichever life they are of, asked of the API server: for a teardown,
 * which must not miss what the cache has not heard of yet.
 */
export async function liveOfStateful<T extends KubeObject>(pass: StatefulPass, resource: Resource): Promise<T[]> {
  const { namespace, name } = placeOfStateful(pass)
  const labelSelector = `${OWNER_KIND_LABEL}=${pass.kind.kind},${OWNER_NAME_LABEL}=${name}`
  const { items } = await pass.workloads.client.list<T>(resource, { namespace, labelSelector })
  return items.filter((each) => ordinalOf(pass, each.metadata.name) !== undefined)
}
