import { timestamp } from '../core/clock.ts'
import { boundaryNamespace } from '../core/names.ts'
import type { KubeObject } from '../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../core/outcome.ts'
import type { Demand } from '../core/sizing/demand.ts'
import {
  covers,
  demandOfGrant,
  type Grant,
  type Grants,
  grantOf,
  IN_FLIGHT,
  isInFlight,
  LEDGER_NAME,
} from '../core/sizing/ledger.ts'
import { QuotaLedger } from '../crds/quotas.ts'
import { absent, isKubeError } from '../kube/errors.ts'
import type { Pass, Rights, Workspace } from './engine/controller.ts'

type LedgerObject = QuotaLedger & { [key: string]: unknown }
/** What of a pass the ledger needs, whatever its kind. */
export type LedgerPass = Pick<Pass, 'records' | 'clock'>

/** What a controller that grants quota writes. */
export const LEDGER_RIGHTS: Rights = { resource: QuotaLedger.resource, verbs: ['get', 'create', 'patch'] }

export type LedgerView = { grants: Grants }
export type Asked =
  /** It has what it asks for. */
  | { kind: 'held' }
  /** @param lapsed keys of grants whose room this one may take */
  | { kind: 'granted'; demand: Demand | undefined; lapsed?: readonly string[] }
  /** @param isUnsettled something that may never come takes the room */
  | { kind: 'refused'; message: string; isUnsettled: boolean }

function refIn(boundaryId: string) {
  return { namespace: boundaryNamespace(boundaryId), name: LEDGER_NAME }
}

function cached(pass: Pick<LedgerPass, 'records'>, boundaryId: string): LedgerObject | undefined {
  const { namespace, name } = refIn(boundaryId)
  return pass.records.cache(QuotaLedger).get(namespace, name)
}

/**
 * Asks at the ledger as the cache has it; a refusal is checked against the API server, which may know what a facade
 * granted a moment ago. A grant is written at the version that was read.
 *
 * @throws KubeError Conflict, AlreadyExists where somebody else was granted something meanwhile: the pass is done again
 */
export async function askLedger(
  pass: LedgerPass,
  boundaryId: string,
  key: string,
  ask: (view: LedgerView) => Asked,
): Promise<Outcome> {
  let ledger = cached(pass, boundaryId)
  let asked = ask(ledger?.spec ?? { grants: {} })
  if (asked.kind === 'refused') {
    ledger = await read(pass, boundaryId)
    asked = ask(ledger?.spec ?? { grants: {} })
  }
  if (asked.kind === 'refused') {
    // Nothing tells when a grant expires that nobody used.
    return asked.isUnsettled
      ? waiting(
          'WaitingForDependency',
          `${asked.message} Another resource is being created; this one waits for it.`,
          IN_FLIGHT,
        )
      : stalled('QuotaExceeded', asked.message)
  }
  if (asked.kind === 'held') return done()
  const lapsed = Object.fromEntries((asked.lapsed ?? []).map((each) => [each, null]))
  await grant(pass, boundaryId, ledger, { ...lapsed, [key]: grantOf(asked.demand, timestamp(pass.clock.now())) })
  return done()
}

function read({ records }: LedgerPass, boundaryId: string): Promise<LedgerObject | undefined> {
  return records.client.get<LedgerObject>(QuotaLedger.resource, refIn(boundaryId)).catch(absent)
}

async function grant(
  { records }: LedgerPass,
  boundaryId: string,
  ledger: LedgerObject | undefined,
  grants: Readonly<Record<string, Grant | null>>,
): Promise<void> {
  const ref = refIn(boundaryId)
  if (ledger === undefined) {
    const { apiVersion, kind } = QuotaLedger
    const object: KubeObject = { apiVersion, kind, metadata: ref, spec: { grants } }
    await records.client.create(QuotaLedger.resource, object)
    return
  }
  const { uid, resourceVersion } = ledger.metadata
  await records.client.mergePatch(QuotaLedger.resource, ref, { spec: { grants } }, { uid, resourceVersion })
}

/** Makes a grant smaller, if that is all it is by then: what was granted a moment ago may be for a change that is not seen yet. */
export async function lessenGrant(
  pass: LedgerPass,
  boundaryId: string,
  key: string,
  leftOf: (granted: Demand) => Demand,
): Promise<Outcome> {
  const ledger = cached(pass, boundaryId)
  const known = ledger?.spec.grants[key]
  if (known === undefined) return done()
  const [granted, now] = [demandOfGrant(known), pass.clock.now()]
  const left = leftOf(granted)
  if (covers(left, granted)) return done()
  if (isInFlight(known, now)) return done({ after: Date.parse(known.at) + IN_FLIGHT - now })
  await grant(pass, boundaryId, ledger, { [key]: grantOf(left, known.at) })
  return done()
}

/** Takes a grant out of the ledger. Without the version: it gives room and takes none. */
export async function releaseGrant(pass: LedgerPass, boundaryId: string, key: string): Promise<void> {
  if (cached(pass, boundaryId)?.spec.grants[key] === undefined) return
  try {
    const patch = { spec: { grants: { [key]: null } } }
    await pass.records.client.mergePatch(QuotaLedger.resource, refIn(boundaryId), patch)
  } catch (error) {
    // The ledger goes with the boundary.
    if (!isKubeError(error, 'NotFound', 'Forbidden')) throw error
  }
}

/** Of a resource that nothing limits: when there is a limit again, what was granted may be far from what it runs with. */
export async function forgetGrant(pass: LedgerPass, boundaryId: string, key: string): Promise<Outcome> {
  const known = cached(pass, boundaryId)?.spec.grants[key]
  if (known === undefined) return done()
  // Whoever granted it a moment ago has seen a limit that is not seen here yet.
  if (isInFlight(known, pass.clock.now())) return done({ after: IN_FLIGHT })
  await releaseGrant(pass, boundaryId, key)
  return done()
}

/** As the cache has it. */
export function grantIn(records: Workspace, boundaryId: string, key: string): Grant | undefined {
  return cached({ records }, boundaryId)?.spec.grants[key]
}
