import type { KubeObject, Resource } from '../../core/object.ts'
import type { Outcome } from '../../core/outcome.ts'
import { isQuantity, parseQuantity } from '../../core/quantity.ts'
import { type Demand, NO_DEMAND, sumDemands } from '../../core/sizing/demand.ts'
import { deployment, horizontalPodAutoscaler, persistentVolumeClaim } from '../../kube/builtin.ts'
import { postgresqlCluster } from '../../kube/postgresql.ts'
import type { Pass } from '../engine/controller.ts'
import { checkQuota, ensureGrantedDemand } from '../quota.ts'

type Amounts = { cpu?: string; memory?: string; storage?: string }
type Claim = { spec?: { resources?: { requests?: Amounts } } }
/** A Deployment or a StatefulSet. */
export type Workload = KubeObject & {
  spec: {
    replicas?: number
    template?: {
      spec?: {
        containers?: { resources?: { requests?: Amounts } }[]
        volumes?: { emptyDir?: { sizeLimit?: string } }[]
      }
    }
    volumeClaimTemplates?: Claim[]
  }
}
type Scaler = KubeObject & { spec: { maxReplicas: number; scaleTargetRef: { name: string } } }
type Engine = KubeObject & {
  spec: {
    instances?: number
    resources?: { requests?: Amounts }
    storage?: { size?: string }
    walStorage?: { size?: string }
  }
}

/**
 * Checks the quota of a resource that runs as these children. If it has no grant and was changed while a limit was
 * introduced, what it runs is recorded; otherwise it would count with the refused demand.
 */
export function checkWorkloadQuota(...resources: readonly Resource[]) {
  return async function checkWorkloadQuota(
    pass: Parameters<typeof checkQuota>[0] & Pick<Pass, 'children'>,
  ): Promise<Outcome> {
    const outcome = await checkQuota(pass)
    if (outcome.kind === 'done') return outcome
    const running = sumDemands(resources.map((resource) => demandOfChildren(pass, resource)))
    // A resource that does not run only has its volumes, and waits in line.
    if (running.pods > 0) await ensureGrantedDemand(pass, running)
    return outcome
  }
}

/** Returns the demand of existing children. */
function demandOfChildren({ children }: Pick<Pass, 'children'>, resource: Resource): Demand {
  if (resource === persistentVolumeClaim) {
    const claims = children.owned<KubeObject & Claim>(resource)
    return sumDemands(claims.map((claim) => ({ ...NO_DEMAND, storage: storageOf(claim) })))
  }
  if (resource === postgresqlCluster) return sumDemands(children.owned<Engine>(resource).map(demandOfEngine))
  if (resource === horizontalPodAutoscaler)
    return sumDemands(children.owned<Scaler>(resource).map((one) => scalerHeadroom(children, one)))
  return sumDemands(children.owned<Workload>(resource).map(({ spec }) => demandOfWorkload(spec)))
}

/** Returns the demand by which an autoscaler may still grow a Deployment. */
function scalerHeadroom(children: Pass['children'], { spec: { maxReplicas, scaleTargetRef } }: Scaler): Demand {
  const scaled = children.owned<Workload>(deployment).find(({ metadata }) => metadata.name === scaleTargetRef.name)
  const { replicas = 1 } = scaled?.spec ?? {}
  if (scaled === undefined || replicas === 0) return NO_DEMAND
  return demandOfWorkload({ ...scaled.spec, replicas: Math.max(0, maxReplicas - replicas) })
}

/** Returns the demand of copies, including their disks and volumes. */
export function demandOfWorkload({ replicas = 1, template, volumeClaimTemplates = [] }: Workload['spec']): Demand {
  const { containers = [], volumes = [] } = template?.spec ?? {}
  const disks = volumes.map(({ emptyDir }) => amount(emptyDir?.sizeLimit))
  const storage = [...disks, ...volumeClaimTemplates.map(storageOf)].reduce((sum, one) => sum + one, 0n)
  return demandOfCopies(replicas, containers[0]?.resources?.requests, storage)
}

function demandOfEngine({ spec: { instances = 1, resources, storage, walStorage } }: Engine): Demand {
  return demandOfCopies(instances, resources?.requests, amount(storage?.size) + amount(walStorage?.size))
}

function demandOfCopies(pods: number, { cpu, memory }: Amounts = {}, storage: bigint): Demand {
  const count = BigInt(pods)
  return { cpu: amount(cpu) * count, memory: amount(memory) * count, storage: storage * count, pods }
}

const storageOf = ({ spec }: Claim) => amount(spec?.resources?.requests?.storage)
const amount = (quantity: string | undefined) =>
  quantity === undefined || !isQuantity(quantity) ? 0n : parseQuantity(quantity)
