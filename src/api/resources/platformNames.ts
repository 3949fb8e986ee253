import { randomUUID } from 'node:crypto'
import { type ErrorCode, PlatformError } from '../../core/errors.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { type ClaimType, claimName } from '../../core/nameClaims.ts'
import type { AnyKind } from '../../crds/define.ts'
import { NameClaim } from '../../crds/nameclaims.ts'
import type { Context, Services } from '../http/context.ts'
import type { RecordOf } from '../records/records.ts'

type Holder = NameClaim['spec']['holder']

/** Who has a name that is unique on the platform, as the cache knows it. */
export function holderOf({ records }: Pick<Services, 'records'>, type: ClaimType, value: string): Holder | undefined {
  return records.peek(NameClaim, { name: claimName(type, value) })?.spec.holder
}

/** Whether a resource of another group has the name, if names of the kind are unique on the platform. */
export function isTakenElsewhere(
  services: Pick<Services, 'records'>,
  kind: AnyKind,
  { namespace, name }: Ref,
): boolean {
  const holder = kind.uniqueName && holderOf(services, kind.uniqueName, name)
  return holder !== undefined && holder.namespace !== namespace
}

type Ref = { namespace: string; name: string }
/** The kind of name that is claimed, and the error if somebody else has it. */
type Wanted = { type: ClaimType; taken: ErrorCode }
type ClaimRecord = RecordOf<typeof NameClaim>

/** Milliseconds after which a claim without an existing holder is stale. */
const HOLDER_DUE = 60_000

/**
 * Claims the name before the object is created, and releases it if the creation fails.
 *
 * @param create makes the object with this incarnation, which the claim names; undefined if the object is there
 * @throws PlatformError `taken`, without saying by whom
 */
export async function underPlatformName<Result>(
  kind: AnyKind,
  ref: Ref,
  { type, taken }: Wanted,
  context: Context,
  create: (incarnation: string | undefined) => Promise<Result>,
): Promise<Result> {
  const { records } = context.services
  if (records.peek(kind, ref) !== undefined) return create(undefined)
  const { incarnation, isNew } = await claim(kind, ref, { type, taken }, context)
  try {
    return await create(incarnation)
  } catch (error) {
    const name = claimName(type, ref.name)
    // Best effort: the next caller takes over a claim without a holder.
    if (isNew) await records.remove(NameClaim, { name }, { caller: context.caller }).catch(() => {})
    throw error
  }
}

async function claim(
  kind: AnyKind,
  ref: Ref,
  { type, taken }: Wanted,
  context: Context,
): Promise<{ incarnation: string | undefined; isNew: boolean }> {
  const { services, caller } = context
  const name = claimName(type, ref.name)
  const incarnation = randomUUID()
  const spec = { type, value: ref.name, holder: { kind: kind.kind, ...ref, incarnation } }
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    try {
      await services.records.create(NameClaim, { name, spec, caller, isSame: () => false })
      return { incarnation, isNew: true }
    } catch (error) {
      if (!(error instanceof PlatformError) || error.code !== 'ALREADY_EXISTS') throw error
    }
    const held = await services.records.get(NameClaim, { name }, { fresh: true })
    if (held === undefined) continue
    const { holder } = held.spec
    const isOurs = holder.kind === kind.kind && holder.namespace === ref.namespace && holder.name === ref.name
    const isLeftOver = await isWithoutHolder(kind, held, context)
    // The same request again, or a concurrent one.
    if (isOurs && !isLeftOver) return { incarnation: holder.incarnation, isNew: false }
    if (!isLeftOver) break
    await services.records.remove(NameClaim, { name }, { caller }).catch(() => {})
  }
  throw new PlatformError(taken, `The name "${ref.name}" is taken on this platform: choose another one.`)
}

async function isWithoutHolder(kind: AnyKind, held: ClaimRecord, { services }: Context): Promise<boolean> {
  const { holder } = held.spec
  if (holder.kind !== kind.kind) return false
  const age = services.clock.now() - Date.parse(held.metadata.creationTimestamp ?? '')
  if (!(age > HOLDER_DUE)) return false
  const { namespace, name } = holder
  const object = await services.records.get(kind, { namespace, name }, { fresh: true })
  return object?.metadata.annotations?.[INCARNATION_ANNOTATION] !== holder.incarnation
}
