import { isDeepStrictEqual } from 'node:util'
import { timestamp } from '../core/clock.ts'
import { MAX_CONFLICT_ATTEMPTS, pauseAfterConflict } from '../core/conflictBackoff.ts'
import { type Answered, KeyedBatches } from '../core/keyedBatches.ts'
import type { KubeObject } from '../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../core/outcome.ts'
import type { Demand } from '../core/sizing/demand.ts'
import {
  coversDemand,
  decideInOrder,
  demandOfGrant,
  type GrantChanges,
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
  /** It needs less than it has; nothing if null. */
  | { kind: 'changed'; grant: QuotaGrant | null }
  /** @param isUnsettled whether it is taken by a grant that may never be used */
  | { kind: 'refused'; message: string; isUnsettled: boolean }

function cached(pass: Pick<LedgerPass, 'records'>, boundaryId: string): LedgerObject | undefined {
  const { namespace, name } = ledgerRef(boundaryId)
  return pass.records.cache(QuotaLedger).get(namespace, name)
}

/** One pass that asks the ledger of a boundary. */
type LedgerRequest = { pass: LedgerPass; key: string; ask: (view: LedgerView) => LedgerDecision }

/** Of each process with controllers. Passes that ask during a write are answered together: one write for all of them. */
const batchesOf = new WeakMap<Workspace, KeyedBatches<LedgerRequest, Outcome>>()

/**
 * Asks the cached ledger; a refusal is checked against the API server, which may know of newer grants. A grant is
 * written at the version that was read, before this returns.
 *
 * @throws KubeError Conflict, AlreadyExists if others keep writing grants: the pass is then retried
 */
export function askLedger(
  pass: LedgerPass,
  boundaryId: string,
  key: string,
  ask: LedgerRequest['ask'],
): Promise<Outcome> {
  const batches = batchesOf.get(pass.records) ?? new KeyedBatches(answerAll)
  batchesOf.set(pass.records, batches)
  return batches.ask(boundaryId, { pass, key, ask })
}

async function answerAll(
  boundaryId: string,
  requests: readonly LedgerRequest[],
): Promise<readonly Answered<Outcome>[]> {
  const [first] = requests
  if (first === undefined) return []
  const { pass } = first
  let ledger = cached(pass, boundaryId)
  let batch = decideAll(requests, ledger)
  for (let attempt = 1; ; attempt += 1) {
    if (attempt > 1 || batch.decided.some(({ isRefused }) => isRefused)) {
      ledger = await read(pass, boundaryId)
      batch = decideAll(requests, ledger)
    }
    try {
      await write(pass, boundaryId, ledger, batch.changes)
      return batch.decided.map(({ answer }) => answer)
    } catch (error) {
      if (!isKubeError(error, 'Conflict', 'AlreadyExists') || attempt >= MAX_CONFLICT_ATTEMPTS) throw error
      await pauseAfterConflict(attempt)
    }
  }
}

function decideAll(requests: readonly LedgerRequest[], ledger: LedgerObject | undefined) {
  return decideInOrder(requests, ledger?.spec.grants ?? NO_GRANTS, (request, grants) => {
    const decision = request.ask({ grants })
    const changes = changesOf(request, decision)
    return { answer: () => outcomeOf(decision), changes, isRefused: decision.kind === 'refused' }
  })
}

function changesOf({ pass, key }: LedgerRequest, decision: LedgerDecision): GrantChanges {
  if (decision.kind === 'changed') return { [key]: decision.grant }
  if (decision.kind !== 'granted') return {}
  const lapsed = Object.fromEntries((decision.expired ?? []).map((each) => [each, null]))
  return { ...lapsed, [key]: grantOf(decision.demand, timestamp(pass.clock.now())) }
}

function outcomeOf(decision: LedgerDecision): Outcome {
  if (decision.kind !== 'refused') return done()
  // Retry, because no event reports that an unused grant has expired.
  return decision.isUnsettled
    ? waiting(
        'WaitingForDependency',
        `${decision.message} Another resource is being created; this one waits for it.`,
        UNSEEN_GRANT_TTL_MS,
      )
    : stalled('QuotaExceeded', decision.message)
}

function read({ records }: LedgerPass, boundaryId: string): Promise<LedgerObject | undefined> {
  return records.client.get<LedgerObject>(QuotaLedger.resource, ledgerRef(boundaryId)).catch(absent)
}

async function write(
  { records }: LedgerPass,
  boundaryId: string,
  ledger: LedgerObject | undefined,
  grants: GrantChanges,
): Promise<void> {
  const ref = ledgerRef(boundaryId)
  if (ledger !== undefined) {
    if (Object.keys(grants).length === 0) return
    const { uid, resourceVersion } = ledger.metadata
    await records.client.mergePatch(QuotaLedger.resource, ref, { spec: { grants } }, { uid, resourceVersion })
    return
  }
  const given = Object.entries(grants).filter(([, grant]) => grant !== null)
  if (given.length === 0) return
  const { apiVersion, kind } = QuotaLedger
  const object: KubeObject = { apiVersion, kind, metadata: ref, spec: { grants: Object.fromEntries(given) } }
  await records.client.create(QuotaLedger.resource, object)
}

/** Reduces a grant, unless it is recent: then it may be for a change that the cache does not show yet. */
export async function lessenGrant(
  pass: LedgerPass,
  boundaryId: string,
  key: string,
  leftOf: (granted: Demand) => Demand,
): Promise<Outcome> {
  const known = grantIn(pass.records, boundaryId, key)
  if (known === undefined) return done()
  const [granted, now] = [demandOfGrant(known), pass.clock.now()]
  const remainingDemand = leftOf(granted)
  if (coversDemand(remainingDemand, granted)) return done()
  if (isInFlight(known, now)) return done({ after: Date.parse(known.at) + UNSEEN_GRANT_TTL_MS - now })
  const grant = grantOf(remainingDemand, known.at)
  return askLedger(pass, boundaryId, key, ({ grants }) =>
    // Another one was written meanwhile, which this decision does not know.
    isDeepStrictEqual(grants[key], known) ? { kind: 'changed', grant } : { kind: 'held' },
  )
}

/** Removes a grant. */
export async function releaseGrant(pass: LedgerPass, boundaryId: string, key: string): Promise<void> {
  if (grantIn(pass.records, boundaryId, key) === undefined) return
  try {
    await askLedger(pass, boundaryId, key, ({ grants }) =>
      grants[key] === undefined ? { kind: 'held' } : { kind: 'changed', grant: null },
    )
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
