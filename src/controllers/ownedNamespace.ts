import { OWNER_INCARNATION_ANNOTATION } from '../core/labels.ts'
import { isReservedFor, withLeavingLabel } from '../core/namespaces.ts'
import { type KubeObject, refOf } from '../core/object.ts'
import { done, type Outcome, waiting } from '../core/outcome.ts'
import type { Boundary } from '../crds/boundaries.ts'
import type { AnyKind } from '../crds/define.ts'
import type { ResourceGroup } from '../crds/resourcegroups.ts'
import { namespace } from '../kube/builtin.ts'
import { absent } from '../kube/errors.ts'
import type { Pass } from './engine/controller.ts'
import { describeRemainingContent } from './engine/namespaceContent.ts'

/** Creates the namespace of an object, or adopts one that was reserved for such an object, and reports its name. */
export const ensureNamespace =
  <K extends typeof Boundary | typeof ResourceGroup>(namespaceObjectOf: (pass: Pass<K>) => KubeObject) =>
  async (pass: Pass<K>): Promise<Outcome> => {
    const adopts = (found: KubeObject) => isReservedFor(pass.kind.kind as 'Boundary' | 'ResourceGroup', found)
    const { object } = await pass.children.ensure(namespaceObjectOf(pass), { resource: namespace, adopts })
    pass.report({ namespace: refOf(object).name } as Parameters<Pass<K>['report']>[0])
    return done()
  }

/** Marks the namespace of a deleted object, so that admission refuses new objects in it. */
export async function markNamespaceClosed<K extends AnyKind>(pass: Pass<K>, home: KubeObject): Promise<Outcome> {
  const found = await pass.children.get(namespace, undefined, refOf(home).name)
  if (found === undefined || found.metadata.deletionTimestamp !== undefined) return done()
  await pass.children.ensure(withLeavingLabel(home), { resource: namespace })
  return done()
}

const MAX_SHOWN_HOLDERS = 5

/**
 * Blocks a deletion, which cannot be undone, before its first step, and says what to do. It continues by itself.
 *
 * @param holders as `<resource>/<name>`
 * @param remedy what a person must do about them
 */
export function blockForHolders(holders: readonly string[], remedy: string): Outcome {
  if (holders.length === 0) return done()
  return waiting(
    'DeletionBlocked',
    `The deletion waits, because this must be kept: ${abbreviateNames(holders)}. ${remedy}; the deletion then continues.`,
  )
}

/** Returns the first names, and how many more there are. */
export function abbreviateNames(names: readonly string[]): string {
  const shown = names.slice(0, MAX_SHOWN_HOLDERS).join(', ')
  return names.length > MAX_SHOWN_HOLDERS ? `${shown} and ${names.length - MAX_SHOWN_HOLDERS} more` : shown
}

/** Deletes the namespace of a deleted object, and waits until it is gone. */
export async function removeOwnedNamespace<K extends AnyKind>(pass: Pass<K>, name: string): Promise<Outcome> {
  const removed = await pass.children.remove(namespace, undefined, name)
  // Ask the API server: the cache may be stale, and without the finalizer nobody would delete the namespace.
  if (removed && !(await ownsNamespace(pass, name))) return done()
  const content = describeRemainingContent(pass.records.cache(namespace).get(undefined, name))
  return waiting('TearingDown', `Waiting for the deletion of namespace "${name}"${content}.`)
}

async function ownsNamespace<K extends AnyKind>(pass: Pass<K>, name: string): Promise<boolean> {
  const found = await pass.records.client.get(namespace, { name }).catch(absent)
  return found !== undefined && found.metadata.annotations?.[OWNER_INCARNATION_ANNOTATION] === pass.incarnation
}
