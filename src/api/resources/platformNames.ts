import { randomUUID } from 'node:crypto'
import { pathClaim } from '../../contracts/functions.ts'
import { HOST_OWNER_ADVICE } from '../../contracts/workloads.ts'
import { type ErrorCode, PlatformError } from '../../core/errors.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { CLAIM_HOLDER_TIMEOUT_MS, type ClaimType, claimName } from '../../core/nameClaims.ts'
import { compareTexts } from '../../core/textOrder.ts'
import type { AnyKind } from '../../crds/define.ts'
import { KINDS } from '../../crds/index.ts'
import { NameClaim } from '../../crds/nameclaims.ts'
import { holderOf as partHolderOf } from '../../crds/parts.ts'
import { sentenceSubjectOf } from '../../crds/restNames.ts'
import { resourceScope } from '../callers/visibility.ts'
import type { Context, Services } from '../http/context.ts'
import type { RecordOf } from '../records/records.ts'
import { mayReadAt } from './holders.ts'
import { ownerOfNamespace } from './namespaceOwner.ts'

type Holder = NameClaim['spec']['holder']

/** Returns the holder of a name that is unique on the platform, from the cache. */
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
/** A name that a resource claims for itself alone, and the error for the caller if another resource has it. */
type WantedName = { type: ClaimType; value: string; taken: (by: string | undefined) => PlatformError }
type ClaimRecord = RecordOf<typeof NameClaim>

/** Returns the unique names that a resource with this spec claims. */
function namesWanted(kind: AnyKind, { namespace, name }: Ref, spec: object, taken: ErrorCode): WantedName[] {
  const message = `The name "${name}" is taken on this platform: choose another one.`
  const own = kind.uniqueName && { type: kind.uniqueName, value: name, taken: () => new PlatformError(taken, message) }
  return [...(own === undefined ? [] : [own]), ...addressesWanted(kind, namespace, spec)]
}

/** Returns hosts and paths in a fixed order, so that two requests for the same ones conflict at the first. */
function addressesWanted(kind: AnyKind, namespace: string, spec: object): WantedName[] {
  const hosts = kind.hostsOf?.(spec as never) ?? []
  const named = Object.entries(spec)
  const fieldOf = (host: string) => named.find(([, value]) => [value].flat().includes(host))?.[0]
  const paths = kind.pathsOf?.(spec as never) ?? []
  return [
    ...[...hosts]
      .sort()
      .map((value): WantedName => ({ type: 'Host', value, taken: (by) => hostTaken(value, by, fieldOf(value)) })),
    ...paths
      .map(({ within, path }): WantedName => {
        const taken = (by = `another function of "${within}"`) =>
          new PlatformError('PATH_TAKEN', `The path "${path}" is taken by ${by}.`, { field: 'triggers', value: path })
        return { type: 'FunctionPath', value: pathClaim(namespace, within, path), taken }
      })
      .sort((one, other) => compareTexts(one.value, other.value)),
  ]
}

/** @param by the holder, if the caller may know it */
export function hostTaken(host: string, by: string | undefined, field?: string): PlatformError {
  const message = by === undefined ? `is taken. ${HOST_OWNER_ADVICE}` : `is taken by ${by}.`
  return new PlatformError('HOST_TAKEN', `The host "${host}" ${message}`, {
    ...(field !== undefined && { field }),
    value: host,
  })
}

type Asking = Pick<Context, 'services' | 'caller'>

/** Describes who has a name, if it is in the boundary of `ownNamespace` and the caller may read it; otherwise undefined. */
export function shownHolder(context: Asking, ownNamespace: string, holder: Holder): string | undefined {
  const { services } = context
  const { namespace, name } = holder
  const kind = KINDS.find((each) => each.kind === holder.kind)
  const [place, own] = [namespace, ownNamespace].map((each) => ownerOfNamespace(services, each))
  const object = kind && services.records.peek(kind, { namespace, name })
  if (kind === undefined || object === undefined) return undefined
  if (place === undefined || place.resourceGroup === null || place.boundaryId !== own?.boundaryId) return undefined
  const { boundaryId, resourceGroup } = place
  const whole = partHolderOf(kind, name, object.spec) ?? name
  const scope = resourceScope(boundaryId, resourceGroup, kind.partOf?.collection ?? kind.segment, whole)
  return mayReadAt(context, kind, scope)
    ? `${sentenceSubjectOf(kind.kind, object)} in group "${resourceGroup}"`
    : undefined
}
type ClaimName = (kind: AnyKind, ref: Ref, wanted: WantedName, incarnation: string) => Promise<Held>
type Held = { incarnation: string; isNew: boolean }

/**
 * Claims the names of a new object before it is created, and releases them if the creation fails.
 *
 * @param taken the error code for its own name
 * @param create receives a function that claims them, and that returns the incarnation that the claims name, if any
 * @throws PlatformError the error of the taken name; it names the holder to callers who may read it
 */
export async function withClaimedNames<Result>(
  kind: AnyKind,
  ref: Ref,
  { context, taken }: { context: Asking; taken: ErrorCode },
  create: (claim: (spec: object) => Promise<string | undefined>) => Promise<Result>,
): Promise<Result> {
  return releaseOnFailure(context, (take) =>
    create(async (spec) => {
      const [first, ...others] = namesWanted(kind, ref, spec, taken)
      if (first === undefined) return undefined
      // A retry or a concurrent request may have made the claim already: then that incarnation counts.
      const { incarnation } = await take(kind, ref, first, randomUUID())
      for (const one of others) await take(kind, ref, one, incarnation)
      return incarnation
    }),
  )
}

/**
 * Claims the hosts and paths that a change adds, and releases them if it fails. The controller releases those that a
 * change gives up, once nothing serves them.
 *
 * @param change receives a function that claims them
 * @throws PlatformError HOST_TAKEN, PATH_TAKEN
 */
export async function withClaimedAddresses<K extends AnyKind, Result>(
  kind: K,
  context: Asking,
  change: (claimAdded: (stored: RecordOf<K>, spec: object) => Promise<void>) => Promise<Result>,
): Promise<Result> {
  return releaseOnFailure(context, (take) =>
    change(async ({ metadata, spec: before }, spec) => {
      const { namespace = '', name, annotations } = metadata
      const incarnation = annotations?.[INCARNATION_ANNOTATION]
      // The object was created by kubectl: the controller will give it an incarnation, and claim its names.
      if (incarnation === undefined) return
      const previousAddresses = new Set(addressesWanted(kind, namespace, before).map(({ value }) => value))
      const added = addressesWanted(kind, namespace, spec).filter(({ value }) => !previousAddresses.has(value))
      for (const one of added) await take(kind, { namespace, name }, one, incarnation)
    }),
  )
}

/** Releases new claims if the work fails, unless another request has created their holder. */
async function releaseOnFailure<Result>(context: Asking, work: (take: ClaimName) => Promise<Result>): Promise<Result> {
  const fresh: Claimed[] = []
  try {
    return await work(async (kind, ref, wanted, incarnation) => {
      const held = await claim(kind, ref, wanted, { incarnation, context })
      if (held.isNew) fresh.push({ kind, ref, wanted, incarnation })
      return held
    })
  } catch (error) {
    // Best effort: the next caller takes over a claim without a holder.
    for (const claimed of fresh) await releaseUnused(claimed, context).catch(() => {})
    throw error
  }
}

type Claimed = { kind: AnyKind; ref: Ref; wanted: WantedName; incarnation: string }

async function releaseUnused({ kind, ref, wanted, incarnation }: Claimed, { services, caller }: Asking): Promise<void> {
  const { type, value } = wanted
  const holder = await services.records.get(kind, ref, { fresh: true })
  const isSameLife = holder?.metadata.annotations?.[INCARNATION_ANNOTATION] === incarnation
  const used = isSameLife ? namesWanted(kind, ref, holder?.spec as object, 'ALREADY_EXISTS') : []
  if (used.some((one) => one.type === type && one.value === value)) return
  await services.records.remove(NameClaim, { name: claimName(type, value) }, { caller })
}

async function claim(
  kind: AnyKind,
  ref: Ref,
  { type, value, taken }: WantedName,
  { incarnation, context }: { incarnation: string; context: Asking },
): Promise<Held> {
  const { services, caller } = context
  const name = claimName(type, value)
  const spec = { type, value, holder: { kind: kind.kind, ...ref, incarnation } }
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
    const isSameResource = holder.kind === kind.kind && holder.namespace === ref.namespace && holder.name === ref.name
    const isLeftOver = await isAbandoned(held, context)
    if (isSameResource && !isLeftOver) return { incarnation: holder.incarnation, isNew: false }
    if (!isLeftOver) throw taken(shownHolder(context, ref.namespace, holder))
    await services.records.remove(NameClaim, { name }, { caller }).catch(() => {})
  }
  throw taken(undefined)
}

async function isAbandoned(held: ClaimRecord, { services }: Asking): Promise<boolean> {
  const { kind: holding, namespace, name, incarnation } = held.spec.holder
  const kind = KINDS.find((each) => each.kind === holding)
  const age = services.clock.now() - Date.parse(held.metadata.creationTimestamp ?? '')
  if (kind === undefined || !(age > CLAIM_HOLDER_TIMEOUT_MS)) return false
  const object = await services.records.get(kind, { namespace, name }, { fresh: true })
  return object?.metadata.annotations?.[INCARNATION_ANNOTATION] !== incarnation
}
