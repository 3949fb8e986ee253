import { containerNamesOf } from '../../contracts/containerinstances.ts'
import { ownerLabelSelector } from '../../contracts/workloads.ts'
import type { Resource } from '../../core/object.ts'
import { done, type Outcome, waiting } from '../../core/outcome.ts'
import { deployment, networkPolicy, pod, podDisruptionBudget, secret, service } from '../../kube/builtin.ts'
import { certificate } from '../../kube/certmanager.ts'
import { pruneChildren } from '../workload/children.ts'
import { removeIdentity } from '../workload/identity.ts'
import { isNamespaceTerminating, refOfPass } from '../workload/pass.ts'
import { ignoreMissingRights } from '../workload/secrets.ts'
import type { InstancePass, InstanceStep } from './types.ts'

/** Does not wait if the namespace is being deleted, which removes everything anyway. */
export function unlessNamespaceTerminating(step: InstanceStep): InstanceStep {
  return async (pass) => {
    const outcome = await step(pass)
    return outcome.kind === 'waiting' && isNamespaceTerminating(pass.records, refOfPass(pass).namespace)
      ? done()
      : outcome
  }
}

/** Deletes the pods before their volumes, so that no volume is removed while in use. */
export async function removeWorkload(pass: InstancePass): Promise<Outcome> {
  const { namespace, name } = refOfPass(pass)
  await pass.children.prune(deployment, [])
  const labelSelector = ownerLabelSelector(pass.kind.kind, name)
  // List from the API server: the cache may lack the newest pods, and nobody looks again later.
  const { items } = await pass.workloads.client.list(pod, { namespace, labelSelector })
  if (items.length > 0) {
    const names = items.map(({ metadata }) => metadata.name).sort()
    return waiting('TearingDown', `Pods are shutting down: ${names.join(', ')}.`)
  }
  const remaining = pass.children.owned(deployment).length
  return remaining === 0 ? done() : waiting('TearingDown', 'The workload is being deleted.')
}

const AUXILIARY_RESOURCES: readonly Resource[] = [certificate, service, podDisruptionBudget, networkPolicy]

/** Does not wait for the garbage collector: during its delay, a new resource would find its names taken. */
export async function removeAuxiliaryChildren(pass: InstancePass): Promise<Outcome> {
  const { namespace } = refOfPass(pass)
  const names = containerNamesOf(pass.object)
  await pruneChildren(pass, [], AUXILIARY_RESOURCES)
  const components = [...pass.object.spec.components, ...(pass.object.status?.components ?? [])]
  const secrets = new Set([...components.map((component) => names.values(component.name)), names.files, names.pull])
  await ignoreMissingRights(async () => {
    for (const each of secrets) await pass.children.remove(secret, namespace, each)
    await removeIdentity(pass)
  })
  return done()
}
