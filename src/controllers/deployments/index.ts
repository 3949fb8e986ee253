import { DEPLOYMENTS_KEPT, isBuildingPhase, isFinalPhase, newestDeployment } from '../../contracts/deployments.ts'
import { KeyedMutex } from '../../core/keyedMutex.ts'
import { refOf } from '../../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import { FunctionNamespace } from '../../crds/functions.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { DeploymentSource } from '../../crds/sources.ts'
import { decideDeployment, EXTERNAL_BUILD_TIMEOUT_MS } from '../../desired/deployments.ts'
import { job, networkPolicy } from '../../kube/builtin.ts'
import { controllerWith, steps } from '../engine/controller.ts'
import { childRights } from '../workload/observers.ts'
import { evictOldLogs, keepBuildLog } from './buildLog.ts'
import { BUILD_OBSERVERS, beginBuild, endBuild, followBuild } from './builds.ts'
import {
  bindToOwner,
  type CachedRecord,
  deploymentsOf,
  OWNER_KINDS,
  ownerOf,
  RECORD_OBSERVERS,
  type RecordPass,
} from './owners.ts'
import type { BuildOptions, RecordState, RecordStep } from './types.ts'

/** Brings each deployment to its end, in turn with the others of its owner: docs/areas/apps.md. */
export const deploymentController = controllerWith<typeof DeploymentRecord, BuildOptions, RecordState>(
  DeploymentRecord,
  {
    observes: [...RECORD_OBSERVERS, ...BUILD_OBSERVERS],
    reads: [...OWNER_KINDS, Boundary, ResourceGroup, DeploymentSource, FunctionNamespace].map(({ resource }) => ({
      resource,
      in: 'records' as const,
    })),
    writes: [{ resource: DeploymentRecord.resource, verbs: ['list', 'delete'] }, ...childRights([job, networkPolicy])],
  },
  (options) => {
    const turns = new KeyedMutex()
    return {
      state: () => ({}),
      reconcile: steps<typeof DeploymentRecord, RecordState>(
        bindToOwner as RecordStep,
        evictOldLogs(options),
        numberIt(turns),
        followBuild(options),
        decide,
        beginBuild(options),
        keepBuildLog(options),
        reportDecision,
        endBuild,
        forgetOldest,
        judge,
      ),
    }
  },
)

const placeOfOwner = ({ object }: Pick<RecordPass, 'object'>) => ({
  namespace: object.metadata.namespace,
  collection: object.spec.ownerCollection,
  name: object.spec.ownerName,
})

/** Numbers deployments in sequence from the API server's list, because the cache may lack the latest one. */
function numberIt(turns: KeyedMutex): RecordStep {
  return async function numberIt({ object, records, state }) {
    state.number = object.status?.number
    if (state.number !== undefined) return done()
    const { namespace, collection, name } = placeOfOwner({ object })
    await turns.take(`${namespace}/${collection}/${name}`, async () => {
      const fieldSelector = `spec.ownerName=${name},spec.ownerCollection=${collection}`
      const { items } = await records.client.list<CachedRecord>(DeploymentRecord.resource, { namespace, fieldSelector })
      const own = items.find(({ metadata }) => metadata.uid === object.metadata.uid)
      state.number = own?.status?.number ?? Math.max(0, ...items.map(({ status }) => status?.number ?? 0)) + 1
      if (own === undefined || own.status?.number !== undefined) return
      const patch = { status: { number: state.number, stage: own.status?.stage ?? 'Queued' } }
      await records.client.mergePatch(DeploymentRecord.resource, refOf(object), patch, {
        subresource: 'status',
        uid: object.metadata.uid,
      })
    })
    return done()
  }
}

function othersOf(pass: RecordPass): CachedRecord[] {
  return deploymentsOf(pass.records, placeOfOwner(pass)).filter(
    ({ metadata }) => metadata.uid !== pass.object.metadata.uid,
  )
}

function decide(pass: RecordPass<RecordState>): Outcome {
  const { object, state, clock, now } = pass
  const status = { ...object.status, number: state.number }
  const owner = ownerOf(pass)
  state.decision = decideDeployment({
    record: { spec: object.spec, status },
    others: othersOf(pass),
    build: state.build?.seen,
    isCancelled: owner?.spec?.cancelledDeployment === object.metadata.name,
    release: owner?.status?.release,
    id: object.metadata.name,
    createdAt: Date.parse(object.metadata.creationTimestamp ?? now),
    now: clock.now(),
  })
  return done()
}

function reportDecision(pass: RecordPass<RecordState>): Outcome {
  const { object, state, now } = pass
  const { stage, message, image, commitSha } = state.decision ?? { stage: 'Queued' as const, message: '' }
  pass.report({
    number: state.number,
    stage,
    lastMessage: message,
    image,
    commitSha: commitSha ?? object.spec.commitSha,
    startedAt: object.status?.startedAt ?? (stage === 'Queued' ? undefined : now),
    finishedAt: isFinalPhase(stage) ? (object.status?.finishedAt ?? now) : undefined,
  })
  return done()
}

/** The newest deployment deletes those beyond the limit, except the serving one and those in progress. */
async function forgetOldest(pass: RecordPass<RecordState>): Promise<Outcome> {
  const others = othersOf(pass)
  const newest = newestDeployment(others)
  if ((newest?.status?.number ?? 0) > (pass.state.number ?? 0)) return done()
  const serving = ownerOf(pass)?.status?.servingDeployment
  const surplus = others
    .sort((one, other) => (other.status?.number ?? 0) - (one.status?.number ?? 0))
    .slice(DEPLOYMENTS_KEPT - 1)
    .filter(({ metadata, status }) => metadata.name !== serving && isFinalPhase(status?.stage))
  for (const one of surplus) {
    await pass.records.client.remove(DeploymentRecord.resource, refOf(one), { uid: one.metadata.uid })
  }
  return done()
}

function judge({ object, state }: RecordPass<RecordState>): Outcome {
  const { stage, message } = state.decision ?? { stage: 'Queued' as const, message: '' }
  if (stage === 'Failed') return stalled('BuildFailed', message)
  if (isFinalPhase(stage)) return done({ reason: 'Completed', message })
  if (stage === 'Deploying') return waiting('RollingOut', message)
  const after = object.spec.strategy === 'Reported' ? EXTERNAL_BUILD_TIMEOUT_MS : undefined
  return waiting(isBuildingPhase(stage) ? 'Building' : 'Accepted', message, after)
}
