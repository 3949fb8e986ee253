import { vectorNames, vectorOrdinal, vectorSelector } from '../../contracts/vector.ts'
import { degraded, done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { routeObstacle } from '../../desired/vector/index.ts'
import { pod, statefulSet } from '../../kube/builtin.ts'
import { loadBalancerAddresses } from '../loadBalancer.ts'
import { isRolledOut, podTroubleOf } from '../stateful/health.ts'
import type { Pod, StatefulSet } from '../stateful/types.ts'
import { placeOfPass, type VectorPass, wantedPeers } from './types.ts'

/** How many peers are ready, said first: a later step may stop the pass, and what runs goes on meanwhile. */
export function observeWorkload(pass: VectorPass): Outcome {
  const { namespace, name } = placeOfPass(pass)
  const found = pass.workloads.cache<StatefulSet>(statefulSet).get(namespace, vectorNames(name).workload)
  const ours = found?.metadata.ownerReferences?.some(({ uid }) => uid === pass.object.metadata.uid) === true
  const ready = (ours ? found?.status?.readyReplicas : undefined) ?? 0
  pass.report({ readyReplicas: ready })
  pass.serving(ready > 0)
  return done()
}

/** What is observed goes into the status, whatever the outcome of the pass is. */
export function reportStatus(pass: VectorPass): Outcome {
  const { object, state } = pass
  const { workload } = state
  const ready = workload?.status?.readyReplicas ?? 0
  const complete = isRolledOut(workload)
  const selector = Object.entries(vectorSelector(object.metadata.name))
  pass.report({
    replicas: state.replicas,
    readyReplicas: ready,
    selector: selector.map(([key, value]) => `${key}=${value}`).join(','),
    ingressHost: state.host,
    publicEndpoint: endpointOf(pass),
    externalAddresses: addresses(pass),
    ...(complete ? { vectorVersion: object.spec.vectorVersion, restartedAt: object.spec.restartedAt } : {}),
  })
  pass.serving(ready > 0)
  return done()
}

/** The outcome that the resource shows: the most particular of what is still to come, else that it is there. */
export function judgeHealth(pass: VectorPass): Outcome {
  const { draining, volumes } = pass.state
  return draining ?? (pass.state.peers === 0 ? judgeStop(pass) : (judgePeers(pass) ?? volumes ?? judgeAddress(pass)))
}

function judgeStop(pass: VectorPass): Outcome {
  // The count of the StatefulSet follows a moment after the pods; until it does, a reader would see peers that are gone.
  const left = Math.max(pods(pass).length, pass.state.workload?.status?.replicas ?? 0)
  if (left > 0) return waiting('Stopping', `${left} peers are shutting down.`)
  return done({ reason: 'Stopped', message: 'No peer runs; the data is kept.' })
}

/** Undefined where every peer is as it should be. */
function judgePeers(pass: VectorPass): Outcome | undefined {
  const { workload, keys, peers } = pass.state
  if (isRolledOut(workload)) return undefined
  const trouble = podTroubleOf(pods(pass))
  if (trouble !== undefined) return trouble
  const ready = workload?.status?.readyReplicas ?? 0
  const progress = `${ready} of ${peers} peers are ready.`
  if (keys?.pending !== undefined || keys?.retired !== undefined) return waiting('RotatingKey', progress)
  const { restartedAt } = pass.object.spec
  if (restartedAt !== undefined && restartedAt !== pass.object.status?.restartedAt)
    return waiting('Restarting', progress)
  if (isStarting(pass)) return waiting('Starting', progress)
  if (pass.object.status?.firstReadyAt === undefined) return waiting('WaitingForWorkload', progress)
  const { status = {} } = workload ?? {}
  const seen = (status.observedGeneration ?? 0) >= (workload?.metadata.generation ?? 1)
  const rolling = status.currentRevision !== status.updateRevision || (!seen && status.replicas === peers)
  if (rolling) return waiting('RollingOut', progress)
  return seen && wasComplete(pass) ? degraded('PartiallyAvailable', progress) : waiting('Scaling', progress)
}

const AFTER_COMPLETION = new Set<unknown>(['Available', 'PartiallyAvailable', 'CrashLooping', 'ImagePullFailed'])

/** All peers were ready once and nothing was asked for since, so what is missing now was there. */
function wasComplete({ object }: VectorPass): boolean {
  const { phase, observedGeneration } = object.status ?? {}
  return AFTER_COMPLETION.has(phase) && observedGeneration === object.metadata.generation
}

/** It was stopped when it was last looked at, or is starting since. */
function isStarting(pass: VectorPass): boolean {
  const { phase } = pass.object.status ?? {}
  return phase === 'Stopped' || phase === 'Stopping' || phase === 'Starting'
}

/** An Ingress says nothing of itself that could be waited for; a Gateway says when it has taken the route. */
function endpointOf({ object, state }: VectorPass): string | undefined {
  const { host, gateway, route } = state
  if (host === undefined) return undefined
  const endpoint = `https://${host}`
  if (gateway === undefined || route?.kind === 'accepted') return endpoint
  // While a Gateway takes over, what served the host before still does.
  return route !== undefined && object.status?.publicEndpoint === endpoint ? endpoint : undefined
}

/** Undefined where the host is served, or none was asked for. */
function judgeHost({ object, state }: VectorPass): Outcome | undefined {
  const { host, gateway, route } = state
  if (host === undefined || gateway === undefined) return undefined
  const obstacle = routeObstacle({ cluster: object, host, gateway })
  if (obstacle !== undefined) return stalled('ConfigurationInvalid', obstacle)
  const name = `Gateway "${gateway.namespace}/${gateway.name}"`
  if (route?.kind === 'refused')
    return stalled('ConfigurationInvalid', `${name} does not take the route of "${host}": ${route.reason}.`)
  if (route?.kind === 'accepted') return undefined
  return waiting('WaitingForAddress', `${name} has not taken the route of "${host}" yet.`)
}

function judgeAddress(pass: VectorPass): Outcome {
  const trouble = judgeHost(pass)
  if (trouble !== undefined) return trouble
  if (pass.object.spec.enableLoadBalancer && addresses(pass) === undefined) {
    return waiting('WaitingForAddress', 'The load balancer has no address yet.')
  }
  const peers = wantedPeers(pass)
  return done({ message: peers === 1 ? 'The peer is ready.' : `All ${peers} peers are ready.` })
}

function addresses(pass: VectorPass): string[] | undefined {
  if (!pass.object.spec.enableLoadBalancer) return undefined
  const { namespace, name } = placeOfPass(pass)
  return loadBalancerAddresses(pass.workloads, namespace, vectorNames(name).publicService)
}

/** Pods of this resource that are still there, in any state. */
export function pods(pass: VectorPass): Pod[] {
  const { namespace, name } = placeOfPass(pass)
  return pass.workloads
    .cache<Pod>(pod)
    .list({ namespace })
    .filter((each) => vectorOrdinal(name, each.metadata.name) !== undefined)
}
