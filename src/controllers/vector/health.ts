import { VECTOR_PORTS, vectorNames } from '../../contracts/vector.ts'
import { ownerLabelSelector, publicUrl } from '../../contracts/workloads.ts'
import { hostInUrl } from '../../core/hostInUrl.ts'
import { degraded, done, type Outcome, waiting } from '../../core/outcome.ts'
import { describeReadyCount, pluralize } from '../../core/pluralize.ts'
import { describeProgress, findPodProblem, isRolledOut } from '../stateful/health.ts'
import { podsLeft, podsOfStateful } from '../stateful/pass.ts'
import { judgeAddress, publicAddresses } from '../workload/addresses.ts'
import { gatewayOf } from '../workload/cluster.ts'
import { judgeHost } from '../workload/hosts.ts'
import { judgeStart, judgeStop, wasComplete } from '../workload/judge.ts'
import { planOf, wantedReplicas } from '../workload/pass.ts'
import type { VectorPass } from './types.ts'
import { versionToRun } from './workload.ts'

/** Reports the observed state, whatever the outcome of the pass. */
export function reportStatus(pass: VectorPass): Outcome {
  const { object, state } = pass
  const { workload } = state
  const ready = workload?.status?.readyReplicas ?? 0
  const complete = isRolledOut(workload)
  pass.report({
    replicas: state.replicas,
    readyReplicas: ready,
    selector: ownerLabelSelector(object.kind, object.metadata.name),
    ingressHost: state.host,
    publicEndpoint: endpointOf(pass),
    externalAddresses: addresses(pass),
    ...(complete ? { vectorVersion: versionToRun(pass), restartedAt: object.spec.restartedAt } : {}),
  })
  pass.serving(ready > 0)
  return done()
}

/** Returns the outcome to show: the most specific pending reason, or Available. */
export function judgeHealth(pass: VectorPass): Outcome {
  const { draining, volumes } = pass.state
  return draining ?? (pass.state.peers === 0 ? judgeStopped(pass) : (judgePeers(pass) ?? volumes ?? judgePublic(pass)))
}

export function judgeStopped(pass: VectorPass): Outcome {
  const remaining = podsLeft(pass)
  return judgeStop(remaining, `Waiting for ${pluralize(remaining, 'peer')} to stop.`, 'No peer runs; the data is kept.')
}

/** Returns undefined if every peer is as it should be. */
function judgePeers(pass: VectorPass): Outcome | undefined {
  const { workload, keys, peers } = pass.state
  if (isRolledOut(workload)) {
    const version = versionToRun(pass)
    if (version === pass.object.spec.vectorVersion) return undefined
    return waiting('RollingOut', `Every peer runs ${version}; the next step is to ${pass.object.spec.vectorVersion}.`)
  }
  const problem = findPodProblem(podsOfStateful(pass))
  if (problem !== undefined) return problem
  const ready = workload?.status?.readyReplicas ?? 0
  const progress = describeProgress(
    pass,
    `${describeReadyCount(ready, peers, 'peer')}.`,
    podsOfStateful(pass),
    planOf(pass),
    workload,
  )
  if (keys?.pending !== undefined || keys?.retired !== undefined) return waiting('RotatingKey', progress)
  const starting = judgeStart(pass, progress)
  if (starting !== undefined) return starting
  const { status = {} } = workload ?? {}
  const seen = (status.observedGeneration ?? 0) >= (workload?.metadata.generation ?? 1)
  const rolling = status.currentRevision !== status.updateRevision || (!seen && status.replicas === peers)
  if (rolling) return waiting('RollingOut', progress)
  return seen && wasComplete(pass) ? degraded('PartiallyAvailable', progress) : waiting('Scaling', progress)
}

/** Returns the public endpoint. An Ingress reports nothing to wait for; a Gateway reports that it took the route. */
function endpointOf(pass: VectorPass): string | undefined {
  const { object, state } = pass
  const { host, route } = state
  const gateway = gatewayOf(pass)
  if (host === undefined) return loadBalancerEndpoint(addresses(pass)?.[0])
  const endpoint = publicUrl(host, state.cluster?.spec.publicPort)
  if (gateway === undefined || route?.kind === 'accepted') return endpoint
  // While a Gateway takes over the host, the Ingress still serves it.
  return route !== undefined && object.status?.publicEndpoint === endpoint ? endpoint : undefined
}

function loadBalancerEndpoint(address: string | undefined): string | undefined {
  if (address === undefined) return undefined
  return `http://${hostInUrl(address)}:${VECTOR_PORTS.rest}`
}

function judgePublic(pass: VectorPass): Outcome {
  const peers = wantedReplicas(pass)
  const ready = peers === 1 ? 'The peer is ready.' : `All ${peers} peers are ready.`
  return judgeHost(pass) ?? judgeAddress(pass, addresses(pass), ready)
}

function addresses(pass: VectorPass): string[] | undefined {
  return publicAddresses(pass, vectorNames(pass.object.metadata.name).publicService)
}
