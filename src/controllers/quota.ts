import type { LRUCache } from 'lru-cache'
import type { ReconcileStatus } from '../core/conditions.ts'
import { BOUNDARY_LABEL, GROUP_LABEL } from '../core/labels.ts'
import { boundaryNamespace, boundaryOfNamespace, groupNamespace } from '../core/names.ts'
import { type KubeObject, keyOf } from '../core/object.ts'
import { done, type Outcome } from '../core/outcome.ts'
import { recentlyUsed } from '../core/recentlyUsed.ts'
import { type Demand, demandUnderPlans, NOTHING, type Sizable } from '../core/sizing/demand.ts'
import { besideOthers, covers, demandOfGrant, grantKey, leftOf, mostOf, type SeenUser } from '../core/sizing/ledger.ts'
import { limitsAmounts, type QuotaLimits, quotaSentence, quotaVerdict } from '../core/sizing/quota.ts'
import { Boundary } from '../crds/boundaries.ts'
import { holderOfCounted, lapsedCounted, quotaUserOf, unseenCounted } from '../crds/counted.ts'
import type { AnyKind } from '../crds/define.ts'
import { COUNTED_KINDS } from '../crds/index.ts'
import { ComputePlan } from '../crds/plans.ts'
import { QuotaLedger } from '../crds/quotas.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { retainedUsers } from '../crds/retainedStorage.ts'
import { namespace as namespaces } from '../kube/builtin.ts'
import type { Observed, Pass, Workspace } from './engine/controller.ts'
import { PHASE_INDEX } from './engine/phaseIndex.ts'
import {
  type Asked,
  askLedger,
  forgetGrant,
  grantIn,
  type LedgerView,
  lessenGrant,
  releaseGrant,
} from './quotaLedger.ts'

type User = KubeObject & Sizable
type Told = NonNullable<Sizable['status']>

/** What objects ask for, by key, as of one version of them and of all plans: quantities are parsed once, not each pass. */
type Known = LRUCache<string, { version: string; user: SeenUser }>
const knownOf = new WeakMap<Workspace, Known>()

/** The resources of a boundary's groups, and parts of them that run, with what they ask for. */
function quotaUsers(records: Workspace, boundaryId: string): SeenUser[] {
  const plans = plansIn(records)
  const planVersions = plans.map(({ metadata }) => metadata.resourceVersion).join()
  const known: Known = knownOf.get(records) ?? recentlyUsed(MOST_KNOWN)
  knownOf.set(records, known)
  const homes = records
    .cache(namespaces)
    .list()
    .filter(({ metadata }) => metadata.labels?.[BOUNDARY_LABEL] === boundaryId)
  return COUNTED_KINDS.flatMap((kind) =>
    homes.flatMap(({ metadata: { name: namespace, labels } }) =>
      records
        .cache<User>(kind.resource)
        .list({ namespace })
        .map((object) => {
          const holder = holderIn(records, kind, object)
          const version = `${versionOf(object)} ${holder && versionOf(holder)} ${planVersions}`
          const knownAs = `${kind.plural}/${keyOf(object)}`
          let entry = known.get(knownAs)
          if (entry?.version !== version) {
            entry = { version, user: quotaUserOf(kind, labels?.[GROUP_LABEL] ?? '', object, { plans, holder }) }
            known.set(knownAs, entry)
          }
          return entry.user
        }),
    ),
  )
}

const MOST_KNOWN = 20_000
const versionOf = ({ metadata }: KubeObject) => `${metadata.uid} ${metadata.resourceVersion}`
const plansIn = (records: Workspace) => records.cache(ComputePlan).list()

/** Of a part that quotas count: what it is a part of. */
function holderIn(records: Workspace, kind: AnyKind, { metadata, spec }: User): User | undefined {
  const holder = holderOfCounted(kind, metadata, spec)
  return holder && records.cache<User>(holder.kind.resource).get(metadata.namespace, holder.name)
}

/** What of a pass quotas need, whatever its kind and state. */
type QuotaPass = Pick<Pass, 'place' | 'records' | 'kind' | 'clock'> & {
  object: { metadata: { name: string; generation?: number }; status?: unknown }
}

type Limits = {
  boundary: QuotaLimits
  groups: readonly { name: string; quota: QuotaLimits; retained: Parameters<typeof retainedUsers>[1] }[]
}

/** Undefined for a boundary that is not there. */
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
 * Whether a resource fits into what the boundary and the group may use. Most have no limit above them, and then no other
 * resource is looked at: a thousand databases would otherwise each weigh a thousand at every change. What fits is
 * written into the boundary's ledger before anything is made, at the version of it that was read: of two that would fit
 * alone, the API server lets one.
 *
 * A stop is judged too, because volumes stay: they may not grow by it. What is refused is stopped by `halt`.
 */
export async function checkQuota(pass: QuotaPass): Promise<Outcome> {
  const { boundaryId = '', resourceGroup = '' } = pass.place
  const limits = limitsIn(pass.records, boundaryId)
  if (limits === undefined) return done()
  const key = grantKey(pass.kind.plural, resourceGroup, pass.object.metadata.name)
  if (!isLimited(limits, resourceGroup)) return forgetGrant(pass, boundaryId, key)
  const users = quotaUsers(pass.records, boundaryId)
  const subject = users.find((user) => user.key === key)
  if (subject === undefined) return done()
  return askLedger(pass, boundaryId, key, (ledger) => asked(pass, { limits, users, subject }, ledger))
}

type Case = { limits: Limits; users: readonly SeenUser[]; subject: SeenUser }

function asked({ object, clock }: QuotaPass, { limits, users, subject }: Case, { grants }: LedgerView): Asked {
  const now = clock.now()
  const grant = grants[subject.key]
  const held = grant && demandOfGrant(grant)
  if (held !== undefined && covers(held, subject.demand)) return { kind: 'held' }
  const seen = new Set(users.map((user) => user.key))
  const lapsed = lapsedCounted(grants, (one) => seen.has(one), now)
  if (grant === undefined && isAsAsked(object, subject.demand))
    return { kind: 'granted', demand: subject.demand, lapsed }
  const unseen = unseenCounted(grants, (one) => seen.has(one), now)
  const growing = { ...subject, held }
  const retained = limits.groups.flatMap((group) => retainedUsers(group.name, group.retained))
  const others = [...besideOthers(users, growing, grants), ...unseen, ...retained]
  const groups = new Map(limits.groups.map(({ name, quota }) => [name, quota]))
  const verdict = quotaVerdict({ boundary: limits.boundary, groups, subject: growing, others })
  if (verdict.kind === 'fits')
    return { kind: 'granted', demand: held ? mostOf(held, subject.demand) : subject.demand, lapsed }
  return { kind: 'refused', message: quotaSentence(verdict), isUnsettled: unseen.length > 0 }
}

/**
 * Whether it has all that it asks for, though nothing was granted to it: it was there before there was a limit, and goes on. Later
 * it could exchange what is not written down for something else, and run with both.
 */
function isAsAsked(object: QuotaPass['object'], { pods }: Demand): boolean {
  const reason = settledAs(object)
  return reason === 'Available' || (reason === 'Stopped' && pods === 0)
}

/** Why it is `Ready` as its spec says by now; undefined while it is not, or could not start. */
function settledAs({ metadata, status }: QuotaPass['object']): string | undefined {
  const { conditions = [] } = (status ?? {}) as ReconcileStatus
  const ready = conditions.find(({ type, status: holds }) => type === 'Ready' && holds === 'True')
  if (ready?.observedGeneration !== metadata.generation) return undefined
  return conditions.some(({ type }) => type === 'Startable') ? undefined : ready?.reason
}

/**
 * Of a resource that is as it asks, or is stopped: what it was granted beyond that is free. Before that it is not, as what keeps
 * a resource from becoming smaller keeps what is there running.
 */
export function giveBackQuota(pass: QuotaPass & Pick<Pass, 'object'>): Promise<Outcome> {
  const { kind, records } = pass
  const object = pass.object as unknown as User
  return giveBack(pass, demandUnderPlans(kind, object, plansIn(records), holderIn(records, kind, object)) ?? NOTHING)
}

/** Of a resource that ended by itself. */
export const giveBackAll = (pass: QuotaPass): Promise<Outcome> => giveBack(pass, NOTHING)

/**
 * What a resource was granted, whatever it asks for by now. One that nothing was granted to, and that was refused what it asks for,
 * was changed at the moment when a limit came: what runs of it is written down.
 */
export async function grantedAtLeast(pass: QuotaPass, running: Demand): Promise<Demand> {
  const { boundaryId = '', resourceGroup = '' } = pass.place
  const key = grantKey(pass.kind.plural, resourceGroup, pass.object.metadata.name)
  const grant = grantIn(pass.records, boundaryId, key)
  if (grant !== undefined) return demandOfGrant(grant)
  await askLedger(pass, boundaryId, key, ({ grants }) =>
    grants[key] === undefined ? { kind: 'granted', demand: running } : { kind: 'held' },
  )
  return running
}

function giveBack(pass: QuotaPass, demand: Demand): Promise<Outcome> {
  const { boundaryId = '', resourceGroup = '' } = pass.place
  const key = grantKey(pass.kind.plural, resourceGroup, pass.object.metadata.name)
  return lessenGrant(pass, boundaryId, key, (granted) => leftOf(demand, granted))
}

/** The last step of a teardown: what a resource had of its quotas is free for others at once. */
export async function releaseQuota(pass: QuotaPass): Promise<Outcome> {
  const { boundaryId = '', resourceGroup = '' } = pass.place
  await releaseGrant(pass, boundaryId, grantKey(pass.kind.plural, resourceGroup, pass.object.metadata.name))
  return done()
}

/** What of a boundary or a group other resources are judged by: not what its status says of itself. */
const relevant = ({ spec, status }: KubeObject & { spec?: unknown; status?: unknown }) => [
  (spec as { quota?: QuotaLimits }).quota,
  (status as ResourceGroup['status'])?.retainedStorage,
]

/** What of a resource its demand follows from. Each that waits is judged beside all others, and asks the API server. */
const relevantOfUser = ({ metadata, spec, status }: KubeObject) => {
  const { replicas = 0, volumes = replicas, completedAt, firstReadyAt, computePlan } = (status ?? {}) as Told
  const planThen = firstReadyAt === undefined ? undefined : computePlan
  return [metadata.uid, metadata.deletionTimestamp, spec, volumes, completedAt, firstReadyAt, planThen]
}

/** What wakes those of a kind that wait for room: other limits, and resources that shrink or go. */
export function quotaObservers(kind: AnyKind): Observed[] {
  const waiting = (records: Workspace, boundaryId: string | undefined): string[] => {
    const homes = records.cache(namespaces)
    return records
      .cache<User>(kind.resource)
      .byIndex(PHASE_INDEX, 'QuotaExceeded')
      .filter(({ metadata }) => {
        const labels = homes.get(undefined, metadata.namespace ?? '')?.metadata.labels
        return labels?.[BOUNDARY_LABEL] === boundaryId
      })
      .map(keyOf)
  }
  /** Those under a limit to whom nothing was granted: what they have, or that they have nothing, is written down as soon as there is one. */
  const unwritten = (records: Workspace, boundaryId = '', group?: string): string[] => {
    const limits = kind.sized === undefined ? undefined : limitsIn(records, boundaryId)
    if (limits === undefined) return []
    const groups = group === undefined ? limits.groups.map(({ name }) => name) : [group]
    return groups.flatMap((name) => {
      if (!isLimited(limits, name)) return []
      const here = records.cache<User>(kind.resource).list({ namespace: groupNamespace(boundaryId, name) })
      const hasNone = ({ metadata }: KubeObject) =>
        grantIn(records, boundaryId, grantKey(kind.plural, name, metadata.name)) === undefined
      return here.filter((one) => settledAs(one) !== undefined && hasNone(one)).map(keyOf)
    })
  }
  /** @param group the only one whose limits may be others; all of the boundary if absent */
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
    ...COUNTED_KINDS.map((user) => ({
      resource: user.resource,
      relevant: relevantOfUser,
      whenAdded: false,
      keysOf: ({ metadata }: KubeObject, records: Workspace) => {
        const home = records.cache(namespaces).get(undefined, metadata.namespace ?? '')
        return waiting(records, home?.metadata.labels?.[BOUNDARY_LABEL])
      },
    })),
  ]
}
