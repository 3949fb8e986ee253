import type { LRUCache } from 'lru-cache'
import type { ReconcileStatus } from '../core/conditions.ts'
import { BOUNDARY_LABEL, GROUP_LABEL } from '../core/labels.ts'
import { createLruCache } from '../core/lruCache.ts'
import { boundaryNamespace, boundaryOfNamespace, groupNamespace } from '../core/names.ts'
import { type KubeObject, keyOf } from '../core/object.ts'
import { done, type Outcome } from '../core/outcome.ts'
import { type Demand, demandUnderPlans, NO_DEMAND, type Sizable } from '../core/sizing/demand.ts'
import {
  coversDemand,
  demandOfGrant,
  grantKey,
  maxDemand,
  remainingDemand,
  type SeenUser,
  usersAgainst,
} from '../core/sizing/ledger.ts'
import {
  evaluateQuota,
  limitsAmounts,
  mightFit,
  type QuotaLimits,
  type QuotaUser,
  quotaSentence,
  usageOf,
} from '../core/sizing/quota.ts'
import { Boundary } from '../crds/boundaries.ts'
import type { AnyKind } from '../crds/define.ts'
import { QUOTA_COUNTED_KINDS } from '../crds/index.ts'
import { ComputePlan } from '../crds/plans.ts'
import { QuotaLedger } from '../crds/quotas.ts'
import { grantedUsers, holderOfCounted, lapsedCounted, quotaUserOf, unseenCounted } from '../crds/quotaUsers.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { retainedUsers } from '../crds/retainedStorage.ts'
import { namespace as namespaces } from '../kube/builtin.ts'
import type { Observed, Pass, Workspace } from './engine/controller.ts'
import { related } from './engine/lookups.ts'
import { PHASE_INDEX } from './engine/phaseIndex.ts'
import {
  askLedger,
  forgetGrant,
  grantIn,
  grantsIn,
  type LedgerDecision,
  type LedgerView,
  lessenGrant,
  releaseGrant,
} from './quotaLedger.ts'

type User = KubeObject & Sizable
type SizableStatus = NonNullable<Sizable['status']>

/** Demand by key, cached for a version of the object and of all plans, so that passes do not parse quantities again. */
type DemandCache = LRUCache<string, { version: string; user: SeenUser }>
const demandCaches = new WeakMap<Workspace, DemandCache>()

/** Returns the resources of a boundary's groups, including parts that run, with their demand. */
function quotaUsers(records: Workspace, boundaryId: string): SeenUser[] {
  const userOf = userReader(records)
  const namespaceObjects = related(records.cache(namespaces), 'boundary', boundaryId)
  return QUOTA_COUNTED_KINDS.flatMap((kind) =>
    namespaceObjects.flatMap(({ metadata: { name: namespace, labels } }) =>
      records
        .cache<User>(kind.resource)
        .list({ namespace })
        .map((object) => userOf(kind, labels?.[GROUP_LABEL] ?? '', object)),
    ),
  )
}

/** Returns a function that returns a resource as a user of quotas. */
function userReader(records: Workspace): (kind: AnyKind, group: string, object: User) => SeenUser {
  const plans = plansIn(records)
  const planVersions = plans.map(({ metadata }) => metadata.resourceVersion).join()
  const known: DemandCache = demandCaches.get(records) ?? createLruCache(MAX_CACHED_DEMANDS)
  demandCaches.set(records, known)
  return (kind, group, object) => {
    const holder = holderIn(records, kind, object)
    const version = `${versionOf(object)} ${holder && versionOf(holder)} ${planVersions}`
    const knownAs = `${kind.plural}/${keyOf(object)}`
    let entry = known.get(knownAs)
    if (entry?.version !== version) {
      entry = { version, user: quotaUserOf(kind, group, object, { plans, holder }) }
      known.set(knownAs, entry)
    }
    return entry.user
  }
}

/** Returns the resource of a pass as a user of quotas; undefined if it is not counted, or not in the cache. */
function userOfPass({ records, kind, object, scope: { resourceGroup = '' } }: QuotaPass): SeenUser | undefined {
  if (!QUOTA_COUNTED_KINDS.includes(kind)) return undefined
  const found = records.cache<User>(kind.resource).get(object.metadata.namespace, object.metadata.name)
  return found && userReader(records)(kind, resourceGroup, found)
}

const MAX_CACHED_DEMANDS = 20_000
const versionOf = ({ metadata }: KubeObject) => `${metadata.uid} ${metadata.resourceVersion}`
const plansIn = (records: Workspace) => records.cache(ComputePlan).list()

/** Returns the parent of a part that quotas count. */
function holderIn(records: Workspace, kind: AnyKind, { metadata, spec }: User): User | undefined {
  const holder = holderOfCounted(kind, metadata, spec)
  return holder && records.cache<User>(holder.kind.resource).get(metadata.namespace, holder.name)
}

/** The part of a pass that quotas need, for any kind and state. */
type QuotaPass = Pick<Pass, 'scope' | 'records' | 'kind' | 'clock'> & {
  object: { metadata: { namespace?: string; name: string; generation?: number }; status?: unknown }
}

type Limits = {
  boundary: QuotaLimits
  groups: readonly { name: string; quota: QuotaLimits; retained: Parameters<typeof retainedUsers>[1] }[]
}

/** Returns undefined if the boundary does not exist. */
function limitsIn(records: Workspace, boundaryId: string | undefined): Limits | undefined {
  const boundary = records.cache(Boundary).get(undefined, boundaryId ?? '')
  if (boundaryId === undefined || boundary === undefined) return undefined
  const groups = records
    .cache(ResourceGroup)
    .list({ namespace: boundaryNamespace(boundaryId) })
    .map(({ metadata: { name }, spec: { quota }, status }) => ({ name, quota, retained: status?.retainedStorage }))
  return { boundary: boundary.spec.quota, groups }
}

function isLimited({ boundary, groups }: Limits, resourceGroup: string): boolean {
  const own = groups.find(({ name }) => name === resourceGroup)
  return limitsAmounts(boundary) || limitsAmounts(own?.quota ?? {})
}

/**
 * Checks whether a resource fits into the quotas of its boundary and group. Without a limit no other resource is looked
 * at: otherwise a thousand databases would each examine a thousand on every change. Demand that fits is written to the
 * boundary's ledger before anything is created, at the version that was read, so that the API server lets only one of
 * two competitors win.
 *
 * A stop is checked as well, because its volumes stay and must not grow. A refused resource is stopped by `halt`.
 */
export async function checkQuota(pass: QuotaPass): Promise<Outcome> {
  const { boundaryId = '', resourceGroup = '' } = pass.scope
  const limits = limitsIn(pass.records, boundaryId)
  if (limits === undefined) return done()
  const key = grantKey(pass.kind.plural, resourceGroup, pass.object.metadata.name)
  if (!isLimited(limits, resourceGroup)) return forgetGrant(pass, boundaryId, key)
  const subject = userOfPass(pass)
  if (subject === undefined) return done()
  let users: readonly SeenUser[] | undefined
  const readUsers = () => {
    users ??= quotaUsers(pass.records, boundaryId)
    return users
  }
  return askLedger(pass, boundaryId, key, (ledger) => decideGrant(pass, { limits, readUsers, subject }, ledger))
}

/** As `checkQuota`, for kinds that need nothing but a place among the resources: one that was ready keeps it. */
export async function checkQuotaOnce(pass: QuotaPass): Promise<Outcome> {
  const { firstReadyAt } = (pass.object.status ?? {}) as { firstReadyAt?: string }
  return firstReadyAt === undefined ? checkQuota(pass) : done()
}

/** `readUsers` looks at every resource of the boundary, and is not called for a resource that has what it asks for. */
type QuotaCase = { limits: Limits; readUsers: () => readonly SeenUser[]; subject: SeenUser }

function decideGrant(
  { object, clock }: QuotaPass,
  { limits, readUsers, subject }: QuotaCase,
  { grants }: LedgerView,
): LedgerDecision {
  const now = clock.now()
  const grant = grants[subject.key]
  const held = grant && demandOfGrant(grant)
  if (held !== undefined && coversDemand(held, subject.demand)) return { kind: 'held' }
  const users = readUsers()
  const seen = new Set(users.map((user) => user.key))
  const expired = lapsedCounted(grants, (one) => seen.has(one), now)
  if (grant === undefined && runsAsSpecified(object, subject.demand))
    return { kind: 'granted', demand: subject.demand, expired }
  const unseen = unseenCounted(grants, (one) => seen.has(one), now)
  const growing = { ...subject, held }
  const retained = limits.groups.flatMap((group) => retainedUsers(group.name, group.retained))
  const others = [...usersAgainst(users, growing, grants), ...unseen, ...retained]
  const groups = new Map(limits.groups.map(({ name, quota }) => [name, quota]))
  const verdict = evaluateQuota({ boundary: limits.boundary, groups, subject: growing, others })
  if (verdict.kind === 'fits')
    return { kind: 'granted', demand: held ? maxDemand(held, subject.demand) : subject.demand, expired }
  return { kind: 'refused', message: quotaSentence(verdict), isUnsettled: unseen.length > 0 }
}

/**
 * Whether it already has all it asks for without a grant: it existed before the limit and may stay. Later it could
 * exchange unrecorded demand for something else and run with both.
 */
function runsAsSpecified(object: QuotaPass['object'], { pods }: Demand): boolean {
  const reason = readyReasonOf(object)
  return reason === 'Available' || (reason === 'Stopped' && pods === 0)
}

/** Returns why it is `Ready` for its current spec; undefined if it is not, or could not start. */
function readyReasonOf({ metadata, status }: QuotaPass['object']): string | undefined {
  const { conditions = [] } = (status ?? {}) as ReconcileStatus
  const ready = conditions.find(({ type, status: holds }) => type === 'Ready' && holds === 'True')
  if (ready?.observedGeneration !== metadata.generation) return undefined
  return conditions.some(({ type }) => type === 'Startable') ? undefined : ready?.reason
}

/**
 * Gives back the granted surplus of a resource that matches its spec or is stopped. Not earlier: what keeps a resource
 * from shrinking also keeps its old demand running.
 */
export function releaseSurplusQuota(pass: QuotaPass & Pick<Pass, 'object'>): Promise<Outcome> {
  const { kind, records } = pass
  const object = pass.object as unknown as User
  return returnDemand(
    pass,
    demandUnderPlans(kind, object, plansIn(records), holderIn(records, kind, object)) ?? NO_DEMAND,
  )
}

/** Gives back everything of a resource that has ended by itself. */
export const releaseEntireQuota = (pass: QuotaPass): Promise<Outcome> => returnDemand(pass, NO_DEMAND)

/**
 * Returns what a resource was granted, whatever it asks for now. If it has no grant, it was changed while a limit was
 * introduced: then what it runs is recorded as granted.
 */
export async function ensureGrantedDemand(pass: QuotaPass, running: Demand): Promise<Demand> {
  const { boundaryId = '', resourceGroup = '' } = pass.scope
  const key = grantKey(pass.kind.plural, resourceGroup, pass.object.metadata.name)
  const grant = grantIn(pass.records, boundaryId, key)
  if (grant !== undefined) return demandOfGrant(grant)
  await askLedger(pass, boundaryId, key, ({ grants }) =>
    grants[key] === undefined ? { kind: 'granted', demand: running } : { kind: 'held' },
  )
  return running
}

function returnDemand(pass: QuotaPass, demand: Demand): Promise<Outcome> {
  const { boundaryId = '', resourceGroup = '' } = pass.scope
  const key = grantKey(pass.kind.plural, resourceGroup, pass.object.metadata.name)
  return lessenGrant(pass, boundaryId, key, (granted) => remainingDemand(demand, granted))
}

/** Frees a resource's quota at the end of its teardown. */
export async function releaseQuota(pass: QuotaPass): Promise<Outcome> {
  const { boundaryId = '', resourceGroup = '' } = pass.scope
  await releaseGrant(pass, boundaryId, grantKey(pass.kind.plural, resourceGroup, pass.object.metadata.name))
  return done()
}

/** The fields of a boundary or group that quotas depend on. */
const relevant = ({ spec, status }: KubeObject & { spec?: unknown; status?: unknown }) => [
  (spec as { quota?: QuotaLimits }).quota,
  (status as ResourceGroup['status'])?.retainedStorage,
]

/** The fields of a resource that its demand depends on: a change makes all waiting resources check again. */
const relevantOfUser = ({ metadata, spec, status }: KubeObject) => {
  const { replicas = 0, volumes = replicas, completedAt, firstReadyAt, computePlan } = (status ?? {}) as SizableStatus
  const planThen = firstReadyAt === undefined ? undefined : computePlan
  return [metadata.uid, metadata.deletionTimestamp, spec, volumes, completedAt, firstReadyAt, planThen]
}

/** Grants of a ledger as users, so that they are read once for each version of it. */
const grantedByLedger = new WeakMap<object, readonly QuotaUser[]>()

function grantedIn(records: Workspace, boundaryId: string): readonly QuotaUser[] {
  const grants = grantsIn(records, boundaryId)
  const known = grantedByLedger.get(grants) ?? grantedUsers(grants, () => true)
  grantedByLedger.set(grants, known)
  return known
}

/**
 * Returns whether a waiting resource might fit. Of thousands that wait, one that cannot fit would otherwise look at all
 * others, and ask for the ledger, after each change of one of them.
 */
function roomReader(records: Workspace, kind: AnyKind, boundaryId: string | undefined): (object: User) => boolean {
  const limits = limitsIn(records, boundaryId)
  if (limits === undefined || boundaryId === undefined) return () => true
  const granted = grantedIn(records, boundaryId).filter(({ key }) => existsAt(records, boundaryId, key))
  // A resource that adopts retained volumes is not charged for them, so their storage decides nothing here.
  const hasRetained = limits.groups.some(({ retained = [] }) => retained.length > 0)
  const usage = usageOf(
    hasRetained ? granted.map((user) => ({ ...user, demand: { ...user.demand, storage: 0n } })) : granted,
  )
  const groups = new Map(limits.groups.map(({ name, quota }) => [name, quota]))
  const heldBy = new Map(granted.map(({ key, demand }) => [key, demand]))
  const userOf = userReader(records)
  return (object) => {
    const group = records.cache(namespaces).get(undefined, object.metadata.namespace ?? '')?.metadata.labels?.[
      GROUP_LABEL
    ]
    const user = userOf(kind, group ?? '', object)
    return mightFit({ boundary: limits.boundary, groups }, usage, { ...user, held: heldBy.get(user.key) })
  }
}

/** Whether the resource of a grant exists. */
function existsAt(records: Workspace, boundaryId: string, key: string): boolean {
  const [plural, group = '', name = ''] = key.split('/')
  const kind = QUOTA_COUNTED_KINDS.find((one) => one.plural === plural)
  return kind !== undefined && records.cache(kind.resource).get(groupNamespace(boundaryId, group), name) !== undefined
}

/** Wakes resources of a kind that wait for room: limits changed, or other resources shrank or were deleted. */
export function quotaObservers(kind: AnyKind): Observed[] {
  const waiting = (records: Workspace, boundaryId: string | undefined): string[] => {
    const namespaceCache = records.cache(namespaces)
    const inBoundary = records
      .cache<User>(kind.resource)
      .byIndex(PHASE_INDEX, 'QuotaExceeded')
      .filter(({ metadata }) => {
        const labels = namespaceCache.get(undefined, metadata.namespace ?? '')?.metadata.labels
        return labels?.[BOUNDARY_LABEL] === boundaryId
      })
    return (inBoundary.length === 0 ? inBoundary : inBoundary.filter(roomReader(records, kind, boundaryId))).map(keyOf)
  }
  /** Resources under a limit without a grant: what they have is recorded as soon as there is a limit. */
  const unwritten = (records: Workspace, boundaryId = '', group?: string): string[] => {
    const limits = kind.sized === undefined ? undefined : limitsIn(records, boundaryId)
    if (limits === undefined) return []
    const groups = group === undefined ? limits.groups.map(({ name }) => name) : [group]
    return groups.flatMap((name) => {
      if (!isLimited(limits, name)) return []
      const inGroup = records.cache<User>(kind.resource).list({ namespace: groupNamespace(boundaryId, name) })
      const hasNone = ({ metadata }: KubeObject) =>
        grantIn(records, boundaryId, grantKey(kind.plural, name, metadata.name)) === undefined
      return inGroup.filter((one) => readyReasonOf(one) !== undefined && hasNone(one)).map(keyOf)
    })
  }
  /** @param group the only group whose limits may have changed; the whole boundary if absent */
  const touched = (records: Workspace, boundaryId: string | undefined, group?: string) => [
    ...new Set([...waiting(records, boundaryId), ...unwritten(records, boundaryId, group)]),
  ]
  return [
    { resource: Boundary.resource, relevant, keysOf: ({ metadata }, records) => touched(records, metadata.name) },
    {
      resource: QuotaLedger.resource,
      keysOf: ({ metadata }, records) => waiting(records, boundaryOfNamespace(metadata.namespace ?? '')),
    },
    {
      resource: ResourceGroup.resource,
      relevant,
      keysOf: ({ metadata }, records) => touched(records, boundaryOfNamespace(metadata.namespace ?? ''), metadata.name),
    },
    ...QUOTA_COUNTED_KINDS.map((user) => ({
      resource: user.resource,
      relevant: relevantOfUser,
      wakesOnCreate: false,
      keysOf: ({ metadata }: KubeObject, records: Workspace) => {
        const namespaceObject = records.cache(namespaces).get(undefined, metadata.namespace ?? '')
        return waiting(records, namespaceObject?.metadata.labels?.[BOUNDARY_LABEL])
      },
    })),
  ]
}
