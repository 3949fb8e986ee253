import type { KubeObject } from '../core/object.ts'
import { service } from '../kube/builtin.ts'
import type { Workspace } from './engine/controller.ts'

type LoadBalancerService = KubeObject & {
  status?: { loadBalancer?: { ingress?: { ip?: string; hostname?: string }[] } }
}

/** Addresses or host names of a Service of type LoadBalancer; undefined until it has one. */
export function loadBalancerAddresses(workloads: Workspace, namespace: string, name: string): string[] | undefined {
  const found = workloads.cache<LoadBalancerService>(service).get(namespace, name)
  const given = (found?.status?.loadBalancer?.ingress ?? []).flatMap(({ ip, hostname }) => ip ?? hostname ?? [])
  return given.length === 0 ? undefined : given
}
