import {
  COMPONENT_LABEL,
  containerNamesOf,
  digestOfImage,
  RELEASE_COMPONENT,
} from '../../contracts/containerinstances.ts'
import { publicUrl } from '../../contracts/workloads.ts'
import { DAY_MS } from '../../core/clock.ts'
import { degraded, done, type Outcome, waiting } from '../../core/outcome.ts'
import { describeReadyCount, pluralize, pluralizeVerb } from '../../core/pluralize.ts'
import type { ComponentSpec } from '../../crds/containerFields.ts'
import { evictionNotes, findEvictionProblem, hasEnded } from '../../desired/workload/evicted.ts'
import {
  describeUnready,
  findWorkloadProblem,
  isDeployed,
  isReady,
  type LiveDeployment,
  type LivePod,
} from '../../desired/workload/podProblems.ts'
import { deployment, pod } from '../../kube/builtin.ts'
import { certificate as certificateResource } from '../../kube/certmanager.ts'
import { related } from '../engine/lookups.ts'
import {
  type CertificateObject,
  certificateState,
  certificateTimesOf,
  worstCertificateState,
} from '../workload/certificates.ts'
import { gatewayOf } from '../workload/cluster.ts'
import { deleteEndedPods, emitEvictions } from '../workload/evicted.ts'
import { scaleToZero } from '../workload/halt.ts'
import { judgeHost } from '../workload/hosts.ts'
import { judgeStart, judgeStop, wasComplete } from '../workload/judge.ts'
import { refOfPass } from '../workload/pass.ts'
import { missingStorageClass } from '../workload/storage.ts'
import type { InstancePass } from './types.ts'

export const podsOf = (pass: InstancePass) => allPodsOf(pass).filter((each) => !hasEnded(each))

const endedPodsOf = (pass: InstancePass) => allPodsOf(pass).filter(hasEnded)

function allPodsOf({ object, workloads }: InstancePass): LivePod[] {
  const { namespace, name } = refOfPass({ object })
  return related(workloads.cache<LivePod>(pod), 'owner', namespace, object.kind, name).filter(
    ({ metadata }) => metadata.labels?.[COMPONENT_LABEL] !== RELEASE_COMPONENT,
  )
}

const ofComponent = (pods: readonly LivePod[], name: string) =>
  pods.filter(({ metadata }) => metadata.labels?.[COMPONENT_LABEL] === name)

/** Reports what runs. Runs first, because a later step may stop the pass while the workload keeps running. */
export async function observeInstance(pass: InstancePass): Promise<Outcome> {
  const { spec } = pass.object
  const pods = podsOf(pass)
  const containers = pods.flatMap(({ status }) => status?.containerStatuses ?? [])
  pass.report({
    readyReplicas: pods.filter(isReady).length,
    replicas: spec.components.reduce((sum, { replicas }) => sum + replicas, 0),
    restartCount: containers.reduce((sum, { restartCount = 0 }) => sum + restartCount, 0),
    // Report former components too: their Secrets exist until they are deleted, and an earlier step may stop the pass.
    components: componentStatuses(pods, [...spec.components, ...formerComponents(pass)]),
  })
  pass.serving(pods.some(isReady))
  await deleteEndedPods(pass, endedPodsOf(pass))
  return done()
}

/** Returns components that the spec no longer has but that may have left objects. */
export function formerComponents({ object: { spec, status } }: InstancePass) {
  return (status?.components ?? []).filter(({ name }) => spec.components.every((one) => one.name !== name))
}

export function componentStatuses(pods: readonly LivePod[], components: readonly { readonly name: string }[]) {
  return components.map(({ name }) => {
    const own = ofComponent(pods, name)
    const [digest] = own.flatMap(({ status }) => digestOfImage(status?.containerStatuses?.[0]?.imageID) ?? [])
    return { name, readyReplicas: own.filter(isReady).length, ...(digest !== undefined && { imageDigest: digest }) }
  })
}

export function reportStatus(pass: InstancePass): Outcome {
  const { object, state } = pass
  const { host, route } = state
  const gateway = gatewayOf(pass)
  const isServed = host !== undefined && (gateway === undefined || route?.kind === 'accepted')
  const isComplete = object.spec.components.every(({ name }) => isDeployed(state.deployments.get(name)))
  pass.report({
    publicHost: host,
    publicUrl: isServed ? publicUrl(host, state.cluster?.spec.publicPort) : undefined,
    certificateStatus: worstCertificateState(certificatesOf(pass)),
    certificates: shownCertificates(pass),
    ...(isComplete ? { restartedAt: object.spec.restartedAt } : {}),
  })
  return done()
}

/** Returns each custom domain with its certificate, if found. */
function foundCertificates(
  pass: InstancePass,
): { host: string; issuer: string; found: CertificateObject | undefined }[] {
  const { namespace } = refOfPass(pass)
  const names = containerNamesOf(pass.object)
  const issuer = pass.state.cluster?.spec.certificateIssuer
  if (issuer === undefined) return []
  const known = pass.workloads.cache<CertificateObject>(certificateResource)
  return pass.state.domains.map((host) => ({ host, issuer, found: known.get(namespace, names.certificate(host)) }))
}

function certificatesOf(pass: InstancePass) {
  return foundCertificates(pass).map(({ found }) => certificateState(found, pass.clock.now()))
}

function shownCertificates(pass: InstancePass) {
  const shown = foundCertificates(pass).map(({ host, issuer, found }) => ({
    ...{ host, issuer, status: certificateState(found, pass.clock.now()) },
    ...certificateTimesOf(found),
  }))
  return shown.length === 0 ? undefined : shown
}

/** Returns the outcome to show: the most specific pending reason, or Available. */
export function judgeHealth(pass: InstancePass): Outcome {
  const { object, state } = pass
  if (!object.spec.running || state.replicas === 0) return judgeStopped(pass)
  return (
    judgeComponents(pass) ??
    state.volumes ??
    judgeHost(pass) ??
    judgeCertificates(pass) ??
    state.backup ??
    availableOutcome(pass)
  )
}

function judgeStopped(pass: InstancePass): Outcome {
  const remaining = podsOf(pass).length
  const progress = `${pluralize(remaining, 'copy', 'copies')} ${pluralizeVerb(remaining, 'is', 'are')} shutting down.`
  return judgeStop(remaining, progress, 'No copy runs; volumes are kept.')
}

/** Returns how to stop the instance if its steps cannot run to their end. */
export function haltInstance(pass: InstancePass) {
  const { components, running } = pass.object.spec
  const isToRun = running && components.some(({ replicas }) => replicas > 0)
  if (isToRun || components.every(({ name }) => pass.state.deployments.has(name))) return undefined
  return async (): Promise<Outcome> => {
    await scaleToZero(pass, deployment, pass.children.owned<LiveDeployment>(deployment))
    return judgeStopped(pass)
  }
}

function availableOutcome(pass: InstancePass): Outcome {
  const { state, object, clock } = pass
  const ended = endedPodsOf(pass)
  const notes = object.spec.components.flatMap(({ name }) =>
    evictionNotes(`component "${name}"`, ofComponent(ended, name), clock.now()),
  )
  const ready = state.replicas === 1 ? 'The copy is ready.' : `All ${state.replicas} copies are ready.`
  const message = [ready, ...notes.map(({ message: text }) => text)].join(' ')
  emitEvictions(pass, notes)
  if (notes.length > 0) return done({ message, after: Math.min(...notes.map(({ remainingMs }) => remainingMs)) })
  return done({ message, ...(certificatesOf(pass).length > 0 && { after: DAY_MS }) })
}

function judgeComponents(pass: InstancePass): Outcome | undefined {
  const { object, state } = pass
  const pods = podsOf(pass)
  const pending = object.spec.components.filter(({ name }) => !isDeployed(state.deployments.get(name)))
  if (pending.length === 0) return undefined
  const problem = pending
    .map((component) => findComponentProblem(pass, component, pods))
    .find((found) => found !== undefined)
  if (problem !== undefined) return problem
  const ready = pods.filter(isReady).length
  const reason = pending
    .map(({ name, readinessProbe }) =>
      describeUnready(`component "${name}"`, ofComponent(pods, name), readinessProbe?.initialDelaySeconds),
    )
    .find((found) => found !== undefined)
  const held =
    state.waitingComponent &&
    `Component "${state.waitingComponent.component}" waits for "${state.waitingComponent.by}".`
  const progress = [`${describeReadyCount(ready, state.replicas, 'copy', 'copies')}.`, reason ?? held]
    .filter(Boolean)
    .join(' ')
  const starting = judgeStart(pass, progress)
  if (starting !== undefined) return starting
  const isRolling = pending.some(({ name }) => {
    const { status, spec, metadata } = state.deployments.get(name) ?? {}
    return (
      (status?.observedGeneration ?? 0) < (metadata?.generation ?? 1) ||
      (status?.updatedReplicas ?? 0) < (spec?.replicas ?? 1)
    )
  })
  if (isRolling) return waiting(state.waitingComponent === undefined ? 'RollingOut' : 'WaitingForDependency', progress)
  return wasComplete(pass, 'BackupFailing') ? degraded('PartiallyAvailable', progress) : waiting('RollingOut', progress)
}

function findComponentProblem(
  pass: InstancePass,
  { name, image }: ComponentSpec,
  pods: readonly LivePod[],
): Outcome | undefined {
  const { object, state, workloads } = pass
  const { cpuRequest = '', memoryRequest = '', memoryLimit = '' } = state.plans.get(name) ?? {}
  const missingClass = missingStorageClass(
    workloads,
    object.spec.volumes.map(({ storageClass }) => storageClass),
  )
  const takesCredential = 'registryCredential' in pass.kind.spec.shape
  const workload = {
    subject: `component "${name}"`,
    image,
    cpuRequest,
    memoryRequest,
    memoryLimit,
    takesCredential,
    missingClass,
  }
  const own = ofComponent(pods, name)
  const problem = findWorkloadProblem(workload, own, state.deployments.get(name))
  return problem ?? findEvictionProblem(workload.subject, own, ofComponent(endedPodsOf(pass), name))
}

function judgeCertificates(pass: InstancePass): Outcome | undefined {
  const worst = worstCertificateState(certificatesOf(pass))
  if (worst === 'Issuing') return waiting('WaitingForCertificate', 'A certificate of a custom domain is being issued.')
  if (worst === 'Failed' || worst === 'Expired' || worst === 'Expiring')
    return degraded(
      'CertificateExpiring',
      `A certificate of a custom domain is ${worst.toLowerCase()}: check that its host leads here.`,
    )
  return undefined
}
