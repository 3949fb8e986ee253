import { ERROR_STATUS, PlatformError } from '../../core/errors.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { type Grant, type Grants, LEDGER_NAME } from '../../core/sizing/ledger.ts'
import { Turns } from '../../core/turns.ts'
import { QuotaLedger } from '../../crds/quotas.ts'
import type { Context } from '../http/context.ts'

type Where = Pick<Context, 'services' | 'caller'>

/** Grants of one boundary are serialized within this process; between processes the API server decides. */
const turns = new Turns()

function refOf(boundaryId: string) {
  return { namespace: boundaryNamespace(boundaryId), name: LEDGER_NAME }
}

/** Reserved quota: the key of its owner, with the new and the previous entry in the ledger. */
export type Taken = { key: string; grant: Grant; before: Grant | undefined }

/**
 * Writes grants into the ledger of a boundary, if `judge` allows it: all of them or none.
 *
 * @param judge returns the grants to write, and undefined for those to remove; called again with each newer version of
 *   the ledger; throws to refuse
 */
export function takeQuota(where: Where, boundaryId: string, judge: Judge): Promise<readonly Taken[]> {
  return turns.take(boundaryId, async () => {
    try {
      return await attempt(where, boundaryId, { judge, fresh: false })
    } catch (error) {
      if (!(error instanceof PlatformError) || error.code !== 'QUOTA_EXCEEDED') throw error
      // The cache may hold quota that was just released: never refuse because of it alone.
      return attempt(where, boundaryId, { judge, fresh: true })
    }
  })
}

type Judge = (grants: Grants) => Readonly<Record<string, Grant | undefined>>
type Asked = { judge: Judge; fresh: boolean }

async function attempt(where: Where, boundaryId: string, { judge, fresh }: Asked): Promise<readonly Taken[]> {
  let taken: readonly Taken[] = []
  const next = (grants: Grants): { grants: Grants } => {
    const judged = judge(grants)
    taken = Object.entries(judged).flatMap(([key, grant]) => (grant ? [{ key, grant, before: grants[key] }] : []))
    if (taken.length === 0) return { grants }
    const kept = Object.entries({ ...grants, ...judged }).filter((one): one is [string, Grant] => one[1] !== undefined)
    return { grants: Object.fromEntries(kept) }
  }
  const { records } = where.services
  const { caller } = where
  const ref = refOf(boundaryId)
  try {
    await records.update(QuotaLedger, ref, { caller, fresh, change: ({ spec }) => next(spec.grants) })
  } catch (error) {
    if (!(error instanceof PlatformError) || error.code !== 'NOT_FOUND') throw error
    const spec = next({})
    if (taken.length === 0) return []
    const { isNew } = await records.create(QuotaLedger, { ...ref, spec, caller, isSame: () => true })
    // Another process created the ledger in between.
    if (!isNew) return attempt(where, boundaryId, { judge, fresh: true })
  }
  return taken
}

/**
 * Performs a write for which quota was reserved, and releases it if the write is refused. If the response is lost,
 * nobody knows whether the write happened: its grant stays, and expires by itself if it did not.
 *
 * @param taken may grow during the write
 */
export async function givingBack<Result>(
  where: Where,
  boundaryId: string,
  taken: readonly Taken[],
  write: () => Promise<Result>,
): Promise<Result> {
  try {
    return await write()
  } catch (error) {
    const isRefused = error instanceof PlatformError && ERROR_STATUS[error.code] < 500
    if (isRefused) for (const one of taken.toReversed()) await giveBack(where, boundaryId, one)
    throw error
  }
}

async function giveBack(where: Where, boundaryId: string, { key, grant, before }: Taken): Promise<void> {
  const change = ({ grants }: { grants: Grants }) => {
    if (JSON.stringify(grants[key]) !== JSON.stringify(grant)) return { grants }
    const { [key]: _, ...rest } = grants
    return { grants: before === undefined ? rest : { ...rest, [key]: before } }
  }
  const request = { caller: where.caller, change: ({ spec }: { spec: { grants: Grants } }) => change(spec) }
  await where.services.records.update(QuotaLedger, refOf(boundaryId), request).catch(() => {})
}
