import { storageClass } from '../../kube/builtin.ts'
import type { Workspace } from '../engine/controller.ts'

/** Returns the first named storage class that the cluster lacks. */
export function missingStorageClass(
  workloads: Workspace,
  classes: readonly (string | undefined)[],
): string | undefined {
  const known = workloads.cache(storageClass)
  return classes.find((name) => name !== undefined && name !== '' && known.get(undefined, name) === undefined)
}
