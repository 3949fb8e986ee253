import { SYSTEM_NAMESPACE } from '../core/names.ts'
import { allButNewest, byAge, type KubeObject, keyOf, refOf } from '../core/object.ts'
import type { AnyKind } from '../crds/define.ts'
import type { KubeClient } from '../kube/client.ts'
import { ignoreKubeAlreadyExists } from '../kube/errors.ts'
import type { Observed, Pass, Workspace } from './engine/controller.ts'

/** Returns the objects of a kind that belong to the platform itself. */
export function platformObjects<T extends KubeObject>(records: Workspace, { resource }: AnyKind): readonly T[] {
  return records.cache<T>(resource).list(resource.namespaced ? { namespace: SYSTEM_NAMESPACE } : {})
}

/** Creates one of them, unless it exists. */
export async function createIfAbsent(
  client: Pick<KubeClient, 'create'>,
  kind: AnyKind,
  name: string,
  spec: object,
): Promise<void> {
  const metadata = { name, namespace: SYSTEM_NAMESPACE }
  const object = { apiVersion: kind.apiVersion, kind: kind.kind, metadata, spec: kind.spec.parse(spec) }
  await client.create(kind.resource, object).catch(ignoreKubeAlreadyExists)
}

/**
 * Deletes all finished objects but the newest. Every pass does this for all of them, because nothing wakes the oldest
 * when another one finishes.
 *
 * @returns whether the object of the pass was deleted
 */
export async function pruneFinished(
  { records, object, kind }: Pick<Pass, 'records' | 'object' | 'kind'>,
  ended: readonly KubeObject[],
  kept: number,
): Promise<boolean> {
  const surplus = allButNewest(ended, kept)
  for (const one of surplus) await records.client.remove(kind.resource, refOf(one), { uid: one.metadata.uid })
  return surplus.some(({ metadata }) => metadata.name === object.metadata.name)
}

/**
 * Wakes the newest finished object when others come and go: it re-creates the next scheduled one if somebody deleted
 * that.
 */
export function newestFinishedObserver(
  { resource }: AnyKind,
  endedOf: (records: Workspace) => readonly KubeObject[],
): Observed {
  return {
    resource,
    relevant: ({ metadata }) => metadata.uid,
    keysOf: (_changed, records) => endedOf(records).toSorted(byAge).slice(-1).map(keyOf),
  }
}
