import type { Resource } from '../../core/object.ts'
import type { AnyKind } from '../../crds/define.ts'
import { controllerRevision, namespace, persistentVolumeClaim, secret } from '../../kube/builtin.ts'
import type { Rights } from '../engine/controller.ts'
import { LEDGER_RIGHTS } from '../quotaLedger.ts'
import { childRights, volumeObserver } from '../workload/observers.ts'

/**
 * What the controller of a kind that runs as a StatefulSet of ours watches, reads and writes for it. Secrets are watched
 * only: they are opened namespace by namespace, by bindings of the group.
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
