import type { KubeObject } from '../../core/object.ts'
import { done, type Outcome, waiting } from '../../core/outcome.ts'
import { service } from '../../kube/builtin.ts'
import { refOfPass, type WorkloadPass } from './pass.ts'

type LoadBalancerService = KubeObject & {
  status?: { loadBalancer?: { ingress?: { ip?: string; hostname?: string }[] } }
}

/** Returns addresses or host names of the LoadBalancer Service; undefined if there are none yet, or none wanted. */
export function publicAddresses(pass: Pick<WorkloadPass, 'object' | 'workloads'>, name: string): string[] | undefined {
  if (pass.object.spec.enableLoadBalancer !== true) return undefined
  const { namespace } = refOfPass(pass)
  const found = pass.workloads.cache<LoadBalancerService>(service).get(namespace, name)
  const given = (found?.status?.loadBalancer?.ingress ?? []).flatMap(({ ip, hostname }) => ip ?? hostname ?? [])
  return given.length === 0 ? undefined : given
}

/** Waits for the address of a load balancer. Checked last. */
export function judgeAddress(
  { object }: Pick<WorkloadPass, 'object'>,
  addresses: readonly string[] | undefined,
  ready: string,
): Outcome {
  if (object.spec.enableLoadBalancer === true && addresses === undefined) {
    return waiting('WaitingForAddress', 'The load balancer has no address yet.')
  }
  return done({ message: ready })
}
