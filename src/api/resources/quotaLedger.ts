import { ERROR_STATUS, PlatformError } from '../../core/errors.ts'
import { KeyedMutex } from '../../core/keyedMutex.ts'
import { ledgerRef, type QuotaGrant, type QuotaGrants } from '../../core/sizing/ledger.ts'
import { QuotaLedger } from '../../crds/quotas.ts'
import type { Context } from '../http/context.ts'

type Where = Pick<Context, 'services' | 'caller'>

/** Grants of one boundary are serialized within this process; between processes the API server decides. */
const ledgerMutex = new KeyedMutex()

/** Reserved quota: the key of its owner, with the new and the previous entry in the ledger. */
export type ReservedQuota = { key: string; grant: QuotaGrant; before: QuotaGrant | undefined }

/**
 * Writes grants into the ledger of a boundary, if `decide` allows it: all of them or none.
 *
 * @param decide returns the grants to write, and undefined for those to remove; called again with each newer version of
 *   the ledger; throws to refuse
 */
export function reserveQuota(where: Where, boundaryId: string, decide: Decide): Promise<readonly ReservedQuota[]> {
  return ledgerMutex.take(boundaryId, async () => {
    try {
      return await reserve(where, boundaryId, { decide, fresh: false })
    } catch (error) {
      if (!(error instanceof PlatformError) || error.code !== 'QUOTA_EXCEEDED') throw error
      // The cache may hold quota that was just released: never refuse because of it alone.
      return reserve(where, boundaryId, { decide, fresh: true })
    }
  })
}

type Decide = (grants: QuotaGrants) => Readonly<Record<string, QuotaGrant | undefined>>
type Attempt = { decide: Decide; fresh: boolean }

async function reserve(
  where: Where,
  boundaryId: string,
  { decide, fresh }: Attempt,
): Promise<readonly ReservedQuota[]> {
  let reserved: readonly ReservedQuota[] = []
  const next = (grants: QuotaGrants): { grants: QuotaGrants } => {
    const changes = decide(grants)
    reserved = Object.entries(changes).flatMap(([key, grant]) => (grant ? [{ key, grant, before: grants[key] }] : []))
    if (reserved.length === 0) return { grants }
    const kept = Object.entries({ ...grants, ...changes }).filter(
      (one): one is [string, QuotaGrant] => one[1] !== undefined,
    )
    return { grants: Object.fromEntries(kept) }
  }
  const { records } = where.services
  const { caller } = where
  const ref = ledgerRef(boundaryId)
  try {
    await records.update(QuotaLedger, ref, { caller, fresh, change: ({ spec }) => next(spec.grants) })
  } catch (error) {
    if (!(error instanceof PlatformError) || error.code !== 'NOT_FOUND') throw error
    const spec = next({})
    if (reserved.length === 0) return []
    const { isNew } = await records.create(QuotaLedger, { ...ref, spec, caller, isSame: () => true })
    // Another process created the ledger in between.
    if (!isNew) return reserve(where, boundaryId, { decide, fresh: true })
  }
  return reserved
}

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
