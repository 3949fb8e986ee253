import { functionNames, pathClaim } from '../../contracts/functions.ts'
import { remoteCopyName } from '../../contracts/remoteCopies.ts'
import type { KubeObject } from '../../core/object.ts'
import { keyOf } from '../../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { describeReadyCount, pluralize, pluralizeVerb } from '../../core/pluralize.ts'
import { FunctionNamespace, httpPaths, ServerlessFunction, triggersOf } from '../../crds/functions.ts'
import { everRuns, isTimeZone } from '../../crds/schedule.ts'
import { functionCopies, mergeVariables, wantedCopies } from '../../desired/functions.ts'
import { evictionNotes, findEvictionProblem } from '../../desired/workload/evicted.ts'
import { findWorkloadProblem, isDeployed, isReady, type LiveDeployment } from '../../desired/workload/podProblems.ts'
import { deployment, namespace, secret } from '../../kube/builtin.ts'
import { endBuilds } from '../deployments/builds.ts'
import { deploymentObserver } from '../deployments/owners.ts'
import { controllerWith, type Observed, steps, type Workspace } from '../engine/controller.ts'
import { LOOKUP_INDEX } from '../engine/lookups.ts'
import { PHASE_INDEX } from '../engine/phaseIndex.ts'
import { acquireNameClaim, CLAIM_RIGHTS, observedClaims, releaseClaims, releaseNames } from '../nameClaims.ts'
import { releaseQuota } from '../quota.ts'
import { LEDGER_RIGHTS } from '../quotaLedger.ts'
import { findCluster } from '../workload/cluster.ts'
import { deleteEndedPods, emitEvictions, POD_RIGHTS } from '../workload/evicted.ts'
import { scaleToZero } from '../workload/halt.ts'
import { judgeStop } from '../workload/judge.ts'
import { childRights, podObserver, workloadObservers } from '../workload/observers.ts'
import { newWorkloadState, planOf, refOfPass, stepAdapter, withSpec } from '../workload/pass.ts'
import { referenceObservers } from '../workload/references.ts'
import { resolvePlan } from '../workload/resolve.ts'
import { ignoreMissingRights } from '../workload/secrets.ts'
import { awaitCopiesGone, checkCopies, endedPodsOf, namespaceOf, podsOf, releaseCopyQuota } from './copies.ts'
import { findIdentity, withdrawIdentity } from './identity.ts'
import { clusterOfFunction, functionsOf, functionsOnCluster, otherClusterObservers } from './otherClusters.ts'
import { chooseImage, DEPLOYMENT_RIGHTS, keepDeployments, reportRelease } from './release.ts'
import type { CachedFunction, CachedNamespace, FunctionOptions, FunctionPass, FunctionState } from './types.ts'
import { DIGEST_RIGHTS, keepValues, pruneSourceFiles, reportKeyDigests, requireKeys, type Variables } from './values.ts'
import { refuseWithheldSecrets, refuseWithheldVariables } from './withheldSecrets.ts'

/** Returns the functions with this reference, in their own variables or those of their namespace. */
function readersOf(records: Workspace, key: string): KubeObject[] {
  const namespaces = records.cache(FunctionNamespace).byIndex(LOOKUP_INDEX, key)
  const inNamespaces = namespaces.flatMap(({ metadata }) => functionsOf(records, metadata.namespace, metadata.name))
  return [...records.cache(ServerlessFunction).byIndex(LOOKUP_INDEX, key), ...inNamespaces]
}

const OTHERS: readonly Observed[] = [
  podObserver(ServerlessFunction),
  deploymentObserver(ServerlessFunction),
  {
    resource: FunctionNamespace.resource,
    keysOf: ({ metadata }, records) => functionsOf(records, metadata.namespace, metadata.name).map(keyOf),
    relevant: ({ spec, metadata, status }) => {
      const { identitySecret } = (status as CachedNamespace['status']) ?? {}
      return [spec, metadata.deletionTimestamp, identitySecret]
    },
  },
  observedClaims(({ spec: { type, value } }, records) => {
    if (type !== 'FunctionPath') return []
    const waiting = records.cache(ServerlessFunction).byIndex(PHASE_INDEX, 'NameOccupied')
    return waiting.filter((each) => claimsOf(each).includes(value)).map(keyOf)
  }),
  ...referenceObservers(readersOf),
  ...workloadObservers(ServerlessFunction, functionsOnCluster),
  ...otherClusterObservers(),
]

const CHILDREN = [deployment]

/** Reconciles functions, with as many copies as the activator asks for: docs/areas/functions.md. */
export const functionController = controllerWith<typeof ServerlessFunction, FunctionOptions, FunctionState>(
  ServerlessFunction,
  {
    observes: [...CHILDREN, secret, ...OTHERS],
    reads: [namespace],
    writes: [...childRights(CHILDREN), POD_RIGHTS, ...DIGEST_RIGHTS, DEPLOYMENT_RIGHTS, CLAIM_RIGHTS, LEDGER_RIGHTS],
  },
  (options) => ({
    state: newWorkloadState,
    clusterOf: clusterOfFunction,
    collectsOrphans: CHILDREN,
    reconcile: steps(
      observeCopies,
      withdrawIdentity,
      reportKeyDigests(options),
      releaseFormerPaths,
      findNamespace,
      findNamespaceCluster,
      resolvePlanOfBoth,
      checkCopies,
      refuseWithheldFromNamespace,
      refuseWithheldVariables,
      checkTimers,
      claimPaths,
      pruneSourceFiles,
      requireKeys,
      valuesStep(options),
      keepDeployments,
      chooseImage,
      findIdentity,
      applyCopies(options),
      reportRelease,
      judge,
    ),
    halt: haltCopies,
    afterSteps: releaseCopyQuota,
    finalize: steps(endBuilds('functions'), removeCopies, releaseNames, releaseQuota),
    finalizeRevoked: steps(endBuilds('functions'), releaseNames, releaseQuota),
  }),
)

/** Reports what serves. Runs first, because the activator calls these copies whatever a later step waits for. */
async function observeCopies(pass: FunctionPass): Promise<Outcome> {
  const ready = podsOf(pass).filter(isReady)
  const clusterId = clusterOfFunction(pass.object, pass.records)
  const copies = ready.flatMap(({ metadata, status }) =>
    clusterId === undefined ? (status?.podIP ?? []) : remoteCopyName({ clusterId, pod: metadata.name }),
  )
  pass.report({
    copies: copies.sort(),
    readyReplicas: ready.length,
    replicas: wantedCopies(pass.object, namespaceOf(pass)),
  })
  pass.serving(ready.length > 0)
  await deleteEndedPods(pass, endedPodsOf(pass))
  return done()
}

function findNamespace(pass: FunctionPass): Outcome {
  const { object, state } = pass
  const { namespaceName } = object.spec
  const found = namespaceOf(pass)
  if (found === undefined)
    return stalled('ReferenceMissing', `There is no function namespace "${namespaceName}" in this group.`)
  // Copies started on another cluster now could outlive the record of where they are, and would never be found.
  if (found.metadata.deletionTimestamp !== undefined)
    return waiting('TearingDown', `Function namespace "${namespaceName}" is being deleted.`)
  state.functionNamespace = found
  return done()
}

/** Comes after the quota, within which the version before goes on. */
const refuseWithheldFromNamespace = (pass: FunctionPass) =>
  refuseWithheldSecrets(pass, 'It', pass.object.spec.namespaceSecrets)

/** The function with its namespace's values as defaults. */
function withNamespace(pass: FunctionPass): FunctionPass {
  const { clusterId, computePlan } = pass.state.functionNamespace?.spec ?? {}
  return withSpec(pass, { clusterId, computePlan: pass.object.spec.computePlan ?? computePlan })
}

const namespaceStep = stepAdapter(withNamespace)
const findNamespaceCluster = namespaceStep(findCluster)
const resolvePlanOfBoth = namespaceStep(resolvePlan({ hasVolumes: false }))

function checkTimers({ object }: FunctionPass): Outcome {
  const triggers = triggersOf(object.spec)
  const neverRunning = triggers.find(({ schedule }) => schedule !== undefined && !everRuns(schedule))
  if (neverRunning !== undefined)
    return stalled(
      'ConfigurationInvalid',
      `The schedule of trigger "${neverRunning.name}" never occurs: check its ranges and days.`,
    )
  const unknown = triggers.find(({ timeZone }) => !isTimeZone(timeZone))
  if (unknown === undefined) return done()
  return stalled('ConfigurationInvalid', `"${unknown.timeZone}" of trigger "${unknown.name}" is not a time zone.`)
}

const claimsOf = ({ metadata, spec }: Pick<CachedFunction, 'metadata' | 'spec'>) =>
  httpPaths(spec).map((path) => pathClaim(metadata.namespace ?? '', spec.namespaceName, path))

/**
 * Releases paths that the spec gave up, before any step that can stop the pass: only paths of the spec are served. The
 * status forgets them too, because another function may take them meanwhile.
 */
async function releaseFormerPaths(pass: FunctionPass): Promise<Outcome> {
  const { spec, status } = pass.object
  const [wanted, claims] = [httpPaths(spec), claimsOf(pass.object)]
  pass.report({ paths: status?.paths?.filter((path) => wanted.includes(path)) })
  return releaseClaims(pass, (value) => !claims.includes(value))
}

/** Claims the paths. The first function to claim a path serves it. */
async function claimPaths(pass: FunctionPass): Promise<Outcome> {
  const { object } = pass
  const wanted = claimsOf(object)
  for (const [index, value] of wanted.entries()) {
    if (await acquireNameClaim(pass, 'FunctionPath', value)) continue
    const path = httpPaths(object.spec)[index]
    return stalled('NameOccupied', `The path "${path}" is taken by another function of "${object.spec.namespaceName}".`)
  }
  pass.report({ paths: httpPaths(object.spec) })
  return done()
}

const variablesOf: Variables = ({ object, state }) =>
  mergeVariables(state.functionNamespace?.spec.env ?? [], object.spec.env)

/** Referenced values may be reachable from the function's cluster only. */
const valuesStep = (options: FunctionOptions) => namespaceStep(keepValues(options, variablesOf))

const imageOf = ({ state }: FunctionPass) => state.servedImage?.image

function applyCopies({ registryHost }: FunctionOptions) {
  return async function applyCopies(pass: FunctionPass): Promise<Outcome> {
    const { object, state } = pass
    const image = imageOf(pass)
    const { functionNamespace } = state
    // Nothing says any more what should run, so remove what runs.
    if (image === undefined || functionNamespace === undefined) {
      await pass.children.prune(deployment, [])
      return done()
    }
    const plan = planOf(pass)
    const environment = variablesOf(pass)
    const { valuesVersion, identitySecret } = state
    const input = {
      object,
      functionNamespace,
      image,
      plan,
      environment,
      valuesVersion,
      identitySecret,
      registryHost,
    }
    const { object: made } = await pass.children.ensure(functionCopies(input), { resource: deployment })
    state.deployment = made as LiveDeployment
    pass.report({ image })
    return done()
  }
}

/** Returns why a healthy function answers no calls; undefined if it does. */
function describeSwitchedOff(pass: FunctionPass): string | undefined {
  if (!pass.object.spec.enabled) return 'It is disabled and answers no calls.'
  return namespaceOf(pass)?.spec.running === false ? 'Its namespace is stopped: it answers no calls.' : undefined
}

/** Scales to zero if the steps end early. A function that should answer calls but cannot keeps its obstacle. */
function haltCopies(pass: FunctionPass) {
  const { object, state, children } = pass
  if (wantedCopies(object, namespaceOf(pass)) > 0 || state.deployment !== undefined) return undefined
  return async (obstacle: Outcome): Promise<Outcome> => {
    await scaleToZero(pass, deployment, children.owned<LiveDeployment>(deployment))
    const stopMessage = describeSwitchedOff(pass)
    if (stopMessage === undefined) return obstacle
    const remaining = podsOf(pass).length
    return judgeStop(
      remaining,
      `${pluralize(remaining, 'copy', 'copies')} ${pluralizeVerb(remaining, 'is', 'are')} shutting down.`,
      stopMessage,
    )
  }
}

function judge(pass: FunctionPass): Outcome {
  const { object, state } = pass
  const image = imageOf(pass)
  const { source } = object.spec
  if (image === undefined) {
    if (object.status?.buildStatus === 'Failed' && source !== undefined)
      return stalled('BuildFailed', 'Its source could not be built: see the log of the deployment.')
    if (source !== undefined) return waiting('Building', 'Its source waits to be built.')
    return done({ reason: 'Stopped', message: 'It has no source yet: upload one to build it.' })
  }
  const stopMessage = describeSwitchedOff(pass)
  if (stopMessage !== undefined) return done({ reason: 'Stopped', message: stopMessage })
  const wanted = wantedCopies(object, state.functionNamespace)
  const plan = planOf(pass)
  const [subject, pods, endedPods] = ['the function', podsOf(pass), endedPodsOf(pass)]
  const problem = findWorkloadProblem({ subject, image, ...plan }, pods, state.deployment)
  if (problem !== undefined) return problem
  const notes = evictionNotes(subject, endedPods, pass.clock.now())
  const [note] = notes
  const availableWith = (message: string) => {
    emitEvictions(pass, notes)
    return done(note === undefined ? { message } : { message: `${message} ${note.message}`, after: note.remainingMs })
  }
  if (wanted === 0) return availableWith('It sleeps: the next call starts a copy.')
  if (isDeployed(state.deployment)) return availableWith(wanted === 1 ? 'One copy serves.' : `${wanted} copies serve.`)
  const evicted = findEvictionProblem(subject, pods, endedPods)
  if (evicted !== undefined) return evicted
  const ready = podsOf(pass).filter(isReady).length
  // Copies come and go with calls, so a missing copy is not a rollout.
  if (ready > 0 || object.status?.firstReadyAt !== undefined) {
    const copies = `${Math.min(ready, wanted)} of ${pluralize(wanted, 'copy', 'copies')} ${pluralizeVerb(wanted, 'serves', 'serve')}`
    return done({ message: `${copies}; calls wait for the others.` })
  }
  return waiting('WaitingForWorkload', `${describeReadyCount(ready, wanted, 'copy', 'copies')}.`)
}

/** Deletes the copies, and on another cluster the Secrets, which no garbage collector deletes there. */
async function removeCopies(pass: FunctionPass): Promise<Outcome> {
  const { children, object, records } = pass
  await children.prune(deployment, [])
  if (clusterOfFunction(object, records) !== undefined) {
    const { namespace, name } = refOfPass(pass)
    const { values, identity } = functionNames(name)
    await ignoreMissingRights(async () => {
      for (const each of [values, identity]) await children.remove(secret, namespace, each)
    })
  }
  return awaitCopiesGone(pass)
}
