import { findLifecycleLockHolder, latestScan } from '../../contracts/rollouts/checkInput.ts'
import { type DriftItem, driftKey } from '../../contracts/rollouts/drift.ts'
import { DRIFT_ITEMS_MAX, SCAN_INTERVAL_MS, SCANS_KEPT } from '../../contracts/rollouts/states.ts'
import { timestamp } from '../../core/clock.ts'
import { ageOf, type KubeObject, keyOf } from '../../core/object.ts'
import { done, ended, type Outcome, REQUEUE_NOW, waiting } from '../../core/outcome.ts'
import { pluralize, pluralizeVerb } from '../../core/pluralize.ts'
import { PlatformComponent } from '../../crds/lifecycle.ts'
import { PlatformDriftScan, RolloutExecution } from '../../crds/rollouts.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isKubeError } from '../../kube/errors.ts'
import { controllerWith, steps, type Workspace } from '../engine/controller.ts'
import { storedConfiguration } from '../lifecycle/configuration.ts'
import { componentsOf, executionsOf, isRollingOut } from '../lifecycle/storedObjects.ts'
import { createIfAbsent, newestFinishedObserver, pruneFinished } from '../platformObjects.ts'
import { INSPECTION_RIGHTS, inspectedComponents, type ScanObject, scansOf } from './checkInput.ts'
import type { RolloutOptions, ScanPass } from './types.ts'

const isScanOver = ({ status }: Pick<ScanObject, 'status'>) =>
  status?.state === 'Finished' || status?.state === 'Failed'

/** What of a scan decides whether others wait for it. */
function turnOfScan(object: KubeObject) {
  const { spec, status } = object as ScanObject
  return [spec.notBefore, status?.state]
}

/**
 * Compares the cluster with what components render. Scans take turns, and wait while a rollout makes changes. After
 * each scan the next scheduled one is created.
 */
export const scanController = controllerWith(
  PlatformDriftScan,
  {
    observes: [
      { resource: PlatformDriftScan.resource, keysOf: waitingScans, relevant: turnOfScan, wakesOnCreate: false },
      newestFinishedObserver(PlatformDriftScan, (records) => scansOf(records).filter(isScanOver)),
      { resource: RolloutExecution.resource, keysOf: waitingScans, relevant: isRollingOut, wakesOnCreate: false },
    ],
    reads: [PlatformComponent.resource],
    writes: [{ resource: PlatformDriftScan.resource, verbs: ['create', 'delete'], in: 'system' }, ...INSPECTION_RIGHTS],
  },
  (options: RolloutOptions) => ({
    reconcile: steps(function scan(pass: ScanPass): Promise<Outcome> {
      return advance(pass, options)
    }),
  }),
)

async function advance(pass: ScanPass, options: RolloutOptions): Promise<Outcome> {
  const { object, records, clock } = pass
  const { spec, status = {} } = object
  if (isScanOver(object)) return pruneScans(pass)
  const now = clock.now()
  const early = Date.parse(spec.notBefore ?? pass.now) - now
  if (early > 0) return waiting('Accepted', `It begins at ${spec.notBefore}.`, early)
  if (status.state === undefined) {
    const before = scansOf(records).filter((one) => isBefore(one, object, now))
    if (before.length > 0) return waiting('WaitingForDependency', 'Another scan is under way: scans take turns.')
    if (spec.trigger !== 'Rollout' && findLifecycleLockHolder(executionsOf(records), []) !== undefined)
      return waiting('WaitingForDependency', 'A rollout is under way.')
    pass.report({ state: 'Running', startedAt: preciseTimestamp(pass) })
    return waiting('Starting', 'It begins.', REQUEUE_NOW)
  }
  return detectDrift(pass, options)
}

/** With milliseconds, unlike other timestamps: which of two scans finished last decides which drift may be accepted. */
const preciseTimestamp = ({ clock }: ScanPass) => new Date(clock.now()).toISOString()

/** Whether another scan goes first: one that is running, or an older one that is due. */
function isBefore(other: ScanObject, own: Pick<ScanObject, 'metadata'>, now: number): boolean {
  if (other.metadata.name === own.metadata.name || isScanOver(other)) return false
  if (other.status?.state === 'Running') return true
  const isDue = other.spec.notBefore === undefined || Date.parse(other.spec.notBefore) <= now
  return isDue && ageOf(other) < ageOf(own)
}

async function detectDrift(pass: ScanPass, { inspector: cluster }: RolloutOptions): Promise<Outcome> {
  const { records } = pass
  try {
    const configVersion = await versionOfConfiguration(records)
    const found = await cluster.drift(inspectedComponents(componentsOf(records)))
    const known = new Map(
      latestScan(scansOf(records))?.status?.items?.map((item) => [driftKey(item), item.firstSeenAt]),
    )
    const seenFirst = (item: DriftItem) => ({ ...item, firstSeenAt: known.get(driftKey(item)) ?? pass.now })
    const omitted = found.items.length - DRIFT_ITEMS_MAX
    const problems = [
      ...found.problems,
      ...(omitted > 0 ? [`${pluralize(omitted, 'more field')} ${pluralizeVerb(omitted, 'is', 'are')} not shown.`] : []),
    ]
    pass.report({
      ...{ state: 'Finished', finishedAt: preciseTimestamp(pass), scanned: found.scanned, configVersion },
      items: found.items.slice(0, DRIFT_ITEMS_MAX).map(seenFirst),
      message: problems.length === 0 ? undefined : problems.join(' ').slice(0, 1024),
    })
    return done({ reason: 'Completed', after: REQUEUE_NOW })
  } catch (error) {
    if (!isKubeError(error) || error.reason === 'Unavailable') throw error
    pass.report({ state: 'Failed', finishedAt: preciseTimestamp(pass), message: error.message.slice(0, 1024) })
    return ended(error.message, { after: REQUEUE_NOW })
  }
}

/** Returns the version that reveals a later change of the configuration. */
async function versionOfConfiguration(records: Workspace): Promise<string | undefined> {
  try {
    return (await storedConfiguration(records.client)).version
  } catch (error) {
    if (isKubeError(error, 'Forbidden')) return undefined
    throw error
  }
}

/** Returns those that have not begun, whether or not their status says already that they wait. */
function waitingScans(_changed: KubeObject, records: Workspace): string[] {
  return scansOf(records)
    .filter(({ status }) => status?.state === undefined)
    .map(keyOf)
}

async function pruneScans(pass: ScanPass): Promise<Outcome> {
  const { records, clock } = pass
  if (await pruneFinished(pass, scansOf(records).filter(isScanOver), SCANS_KEPT)) return done({ reason: 'Completed' })
  const isWaiting = scansOf(records).some((one) => one.spec.trigger === 'Scheduled' && !isScanOver(one))
  if (!isWaiting) await scheduleScan(records.client, clock.now())
  const { state, message = 'It has failed.' } = pass.object.status ?? {}
  return ended(state === 'Failed' ? message : undefined)
}

/** Creates the scan of the next interval, which waits for its time. */
export async function scheduleScan(client: KubeClient, now: number): Promise<void> {
  const notBefore = timestamp((Math.floor(now / SCAN_INTERVAL_MS) + 1) * SCAN_INTERVAL_MS)
  const name = `scheduled-${notBefore.slice(0, 13).toLowerCase()}`
  await createIfAbsent(client, PlatformDriftScan, name, { trigger: 'Scheduled', notBefore })
}
