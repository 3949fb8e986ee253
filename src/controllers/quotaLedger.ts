import { timestamp } from '../core/clock.ts'
import type { KubeObject } from '../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../core/outcome.ts'
import type { Demand } from '../core/sizing/demand.ts'
import {
  coversDemand,
  demandOfGrant,
  grantOf,
  isInFlight,
  ledgerRef,
  type QuotaGrant,
  type QuotaGrants,
  UNSEEN_GRANT_TTL_MS,
} from '../core/sizing/ledger.ts'
import { QuotaLedger } from '../crds/quotas.ts'
import { absent, isKubeError } from '../kube/errors.ts'
import type { Pass, Rights, Workspace } from './engine/controller.ts'

type LedgerObject = QuotaLedger & { [key: string]: unknown }
/** The part of a pass that the ledger needs, for any kind. */
export type LedgerPass = Pick<Pass, 'records' | 'clock'>

/** Rights of a controller that grants quota. */
export const LEDGER_RIGHTS: Rights = { resource: QuotaLedger.resource, verbs: ['get', 'create', 'patch'] }

export type LedgerView = { grants: QuotaGrants }
export type LedgerDecision =
  /** It already has what it asks for. */
  | { kind: 'held' }
  /** @param expired keys of grants whose share it may take */
  | { kind: 'granted'; demand: Demand | undefined; expired?: readonly string[] }
  /** @param isUnsettled whether it is taken by a grant that may never be used */
  | { kind: 'refused'; message: string; isUnsettled: boolean }

function cached(pass: Pick<LedgerPass, 'records'>, boundaryId: string): LedgerObject | undefined {
  const { namespace, name } = ledgerRef(boundaryId)
  return pass.records.cache(QuotaLedger).get(namespace, name)
}

/**
 * Asks the cached ledger; a refusal is checked against the API server, which may know of newer grants. A grant is
 * written at the version that was read.
 *
 * @throws KubeError Conflict, AlreadyExists if another grant was written meanwhile: the pass is then retried
 */
export async function askLedger(
  pass: LedgerPass,
  boundaryId: string,
  key: string,
  ask: (view: LedgerView) => LedgerDecision,
): Promise<Outcome> {
  let ledger = cached(pass, boundaryId)
  let decision = ask(ledger?.spec ?? { grants: {} })
  if (decision.kind === 'refused') {
    ledger = await read(pass, boundaryId)
    decision = ask(ledger?.spec ?? { grants: {} })
  }
  if (decision.kind === 'refused') {
    // Retry, because no event reports that an unused grant has expired.
    return decision.isUnsettled
      ? waiting(
          'WaitingForDependency',
          `${decision.message} Another resource is being created; this one waits for it.`,
          UNSEEN_GRANT_TTL_MS,
        )
      : stalled('QuotaExceeded', decision.message)
  }
  if (decision.kind === 'held') return done()
  const lapsed = Object.fromEntries((decision.expired ?? []).map((each) => [each, null]))
  await grant(pass, boundaryId, ledger, { ...lapsed, [key]: grantOf(decision.demand, timestamp(pass.clock.now())) })
  return done()
}

function read({ records }: LedgerPass, boundaryId: string): Promise<LedgerObject | undefined> {
  return records.client.get<LedgerObject>(QuotaLedger.resource, ledgerRef(boundaryId)).catch(absent)
}

async function grant(
  { records }: LedgerPass,
  boundaryId: string,
  ledger: LedgerObject | undefined,
  grants: Readonly<Record<string, QuotaGrant | null>>,
): Promise<void> {
  const ref = ledgerRef(boundaryId)
  if (ledger === undefined) {
    const { apiVersion, kind } = QuotaLedger
    const object: KubeObject = { apiVersion, kind, metadata: ref, spec: { grants } }
    await records.client.create(QuotaLedger.resource, object)
    return
  }
  const { uid, resourceVersion } = ledger.metadata
  await records.client.mergePatch(QuotaLedger.resource, ref, { spec: { grants } }, { uid, resourceVersion })
}

/** Reduces a grant, unless it is recent: then it may be for a change that the cache does not show yet. */
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
  const remainingDemand = leftOf(granted)
  if (coversDemand(remainingDemand, granted)) return done()
  if (isInFlight(known, now)) return done({ after: Date.parse(known.at) + UNSEEN_GRANT_TTL_MS - now })
  await grant(pass, boundaryId, ledger, { [key]: grantOf(remainingDemand, known.at) })
  return done()
}

/** Removes a grant, without the version: freeing quota cannot conflict. */
export async function releaseGrant(pass: LedgerPass, boundaryId: string, key: string): Promise<void> {
  if (cached(pass, boundaryId)?.spec.grants[key] === undefined) return
  try {
    const patch = { spec: { grants: { [key]: null } } }
    await pass.records.client.mergePatch(QuotaLedger.resource, ledgerRef(boundaryId), patch)
  } catch (error) {
    // The ledger is deleted with the boundary.
    if (!isKubeError(error, 'NotFound', 'Forbidden')) throw error
  }
}

/** Forgets the grant of an unlimited resource: by the time of a new limit it may be far from the real demand. */
export async function forgetGrant(pass: LedgerPass, boundaryId: string, key: string): Promise<Outcome> {
  const known = cached(pass, boundaryId)?.spec.grants[key]
  if (known === undefined) return done()
  // A recent grant was made under a limit that this cache does not show yet.
  if (isInFlight(known, pass.clock.now())) return done({ after: UNSEEN_GRANT_TTL_MS })
  await releaseGrant(pass, boundaryId, key)
  return done()
}

export function grantIn(records: Workspace, boundaryId: string, key: string): QuotaGrant | undefined {
  return grantsIn(records, boundaryId)[key]
}

const NO_GRANTS: QuotaGrants = {}

export function grantsIn(records: Workspace, boundaryId: string): QuotaGrants {
  return cached({ records }, boundaryId)?.spec.grants ?? NO_GRANTS
}
