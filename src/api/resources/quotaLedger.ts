import { ERROR_STATUS, PlatformError } from '../../core/errors.ts'
import { type Answered, KeyedBatches } from '../../core/keyedBatches.ts'
import {
  type DecidedRequest,
  decideInOrder,
  type GrantChanges,
  ledgerRef,
  type QuotaGrant,
  type QuotaGrants,
  withChanges,
} from '../../core/sizing/ledger.ts'
import { QuotaLedger } from '../../crds/quotas.ts'
import type { Context } from '../http/context.ts'
import type { Records } from '../records/records.ts'

type Where = Pick<Context, 'services' | 'caller'>

/** Reserved quota: the key of its owner, with the new and the previous entry in the ledger. */
export type ReservedQuota = { key: string; grant: QuotaGrant; before: QuotaGrant | undefined }

/** Returns the grants to write, and undefined for those to remove. @throws PlatformError QUOTA_EXCEEDED */
type Decide = (grants: QuotaGrants) => GrantChanges
type Request = { where: Where; decide: Decide }
type Reserved = Answered<readonly ReservedQuota[]>

/**
 * Of each process with a facade. Requests that come during a write are answered together, by one write for all of
 * them; between processes the API server decides.
 */
const batchesOf = new WeakMap<Records, KeyedBatches<Request, readonly ReservedQuota[]>>()

/**
 * Writes grants into the ledger of a boundary, if `decide` allows it: all of them or none.
 *
 * @param decide called again with each newer version of the ledger
 */
export function reserveQuota(where: Where, boundaryId: string, decide: Decide): Promise<readonly ReservedQuota[]> {
  const { records } = where.services
  const batches = batchesOf.get(records) ?? new KeyedBatches(reserveAll)
  batchesOf.set(records, batches)
  return batches.ask(boundaryId, { where, decide })
}

async function reserveAll(boundaryId: string, requests: readonly Request[]): Promise<readonly Reserved[]> {
  const cached = await attemptAll(boundaryId, requests, false)
  // The cache may hold quota that was just released: never refuse because of it alone.
  const refused = requests.filter((_, index) => cached[index]?.isRefused === true)
  const fresh = refused.length === 0 ? [] : await attemptAll(boundaryId, refused, true)
  return cached.map(({ isRefused, answer }) => (isRefused ? fresh.shift()?.answer : undefined) ?? answer)
}

type Attempt = DecidedRequest<readonly ReservedQuota[]>

/** @param fresh whether to read the ledger from the API server */
async function attemptAll(boundaryId: string, requests: readonly Request[], fresh: boolean): Promise<Attempt[]> {
  const [first] = requests
  if (first === undefined) return []
  const { records } = first.where.services
  const { caller } = first.where
  const ref = ledgerRef(boundaryId)
  let attempts: Attempt[] = []
  const change = ({ spec }: { spec: { grants: QuotaGrants } }) => {
    const { decided, changes } = decideAll(requests, spec.grants)
    attempts = decided
    return { grants: withChanges(spec.grants, changes) }
  }
  try {
    await records.update(QuotaLedger, ref, { caller, fresh, change })
  } catch (error) {
    if (!(error instanceof PlatformError) || error.code !== 'NOT_FOUND') throw error
    const spec = change({ spec: { grants: {} } })
    if (Object.keys(spec.grants).length === 0) return attempts
    const { isNew } = await records.create(QuotaLedger, { ...ref, spec, caller, isSame: () => true })
    // Another process created the ledger in between.
    if (!isNew) return attemptAll(boundaryId, requests, true)
  }
  return attempts
}

function decideAll(requests: readonly Request[], stored: QuotaGrants) {
  const decide = ({ decide }: Request, grants: QuotaGrants) => {
    const changes = decide(grants)
    const reserved = Object.entries(changes).flatMap(([key, grant]) =>
      grant ? [{ key, grant, before: grants[key] }] : [],
    )
    // What has expired is removed by whoever uses its amounts.
    return { answer: () => reserved, isRefused: false, changes: reserved.length > 0 ? changes : {} }
  }
  return decideInOrder<Request, readonly ReservedQuota[]>(requests, stored, decide, isQuotaExceeded)
}

const isQuotaExceeded = (error: unknown) => error instanceof PlatformError && error.code === 'QUOTA_EXCEEDED'

/**
 * Performs a write for which quota was reserved, and releases it if the write is refused. If the response is lost,
 * nobody knows whether the write happened: its grant stays, and expires by itself if it did not.
 *
 * @param reserved may grow during the write
 */
export async function releaseQuotaOnRefusal<Result>(
  where: Where,
  boundaryId: string,
  reserved: readonly ReservedQuota[],
  write: () => Promise<Result>,
): Promise<Result> {
  try {
    return await write()
  } catch (error) {
    const isRefused = error instanceof PlatformError && ERROR_STATUS[error.code] < 500
    if (isRefused) for (const one of reserved.toReversed()) await releaseGrant(where, boundaryId, one)
    throw error
  }
}

async function releaseGrant(where: Where, boundaryId: string, { key, grant, before }: ReservedQuota): Promise<void> {
  const change = ({ grants }: { grants: QuotaGrants }) => {
    if (JSON.stringify(grants[key]) !== JSON.stringify(grant)) return { grants }
    const { [key]: _, ...rest } = grants
    return { grants: before === undefined ? rest : { ...rest, [key]: before } }
  }
  const request = { caller: where.caller, change: ({ spec }: { spec: { grants: QuotaGrants } }) => change(spec) }
  await where.services.records.update(QuotaLedger, ledgerRef(boundaryId), request).catch(() => {})
}
