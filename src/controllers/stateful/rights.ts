import type { Resource } from '../../core/object.ts'
import type { AnyKind } from '../../crds/define.ts'
import { controllerRevision, namespace, persistentVolumeClaim, secret } from '../../kube/builtin.ts'
import type { Rights } from '../engine/controller.ts'
import { LEDGER_RIGHTS } from '../quotaLedger.ts'
import { childRights, volumeObserver } from '../workload/observers.ts'

/**
 * Returns what the controller of a kind with a StatefulSet watches, reads and writes. Secrets are only watched here:
 * access to them is granted per namespace, by RoleBindings of the group.
 */
export function statefulRights(kind: AnyKind, children: readonly Resource[]) {
  const writes: Rights[] = [
    ...childRights(children),
    { resource: persistentVolumeClaim, verbs: ['get', 'patch', 'delete'] },
    { resource: controllerRevision, verbs: ['list', 'delete'] },
    { resource: kind.resource, verbs: ['get', 'patch'] },
    LEDGER_RIGHTS,
  ]
  return { observes: [...children, persistentVolumeClaim, secret, volumeObserver(kind)], reads: [namespace], writes }
}
