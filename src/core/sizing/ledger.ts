import type { Answered } from '../keyedBatches.ts'
import { boundaryNamespace } from '../names.ts'
import { formatBytes, formatCores, parseQuantity } from '../quantity.ts'
import { type Demand, NO_DEMAND } from './demand.ts'
import type { QuotaUser } from './quota.ts'

/** What a resource was granted of the quotas above it, over all its replicas, and when (RFC 3339). */
export type QuotaGrant = { cpu: string; memory: string; storage: string; pods: number; at: string }
/** By `grantKey`. */
export type QuotaGrants = Readonly<Record<string, QuotaGrant>>

/** Entries of a ledger to write; undefined or null removes one. */
export type GrantChanges = Readonly<Record<string, QuotaGrant | null | undefined>>

/** Returns the grants after a write. */
export function withChanges(grants: QuotaGrants, changes: GrantChanges): QuotaGrants {
  const entries = Object.entries(changes)
  if (entries.length === 0) return grants
  const next = { ...grants }
  for (const [key, grant] of entries) {
    if (grant) next[key] = grant
    else delete next[key]
  }
  return next
}

/** What one request of a batch is answered, and whether these grants refuse it. */
export type DecidedRequest<Answer> = { readonly answer: Answered<Answer>; readonly isRefused: boolean }

/**
 * Decides in the order of the requests: each one sees what those before it were granted. One that throws is answered
 * with that, and granted nothing.
 *
 * @returns `changes` of all requests together, to be written at once
 */
export function decideInOrder<Request, Answer>(
  requests: readonly Request[],
  stored: QuotaGrants,
  decide: (request: Request, grants: QuotaGrants) => DecidedRequest<Answer> & { readonly changes: GrantChanges },
  isRefusal: (error: unknown) => boolean = () => false,
): { decided: DecidedRequest<Answer>[]; changes: GrantChanges } {
  let [grants, changes]: [QuotaGrants, GrantChanges] = [stored, {}]
  const decided = requests.map((request): DecidedRequest<Answer> => {
    try {
      const one = decide(request, grants)
      grants = withChanges(grants, one.changes)
      changes = { ...changes, ...one.changes }
      return one
    } catch (error) {
      const answer = () => {
        throw error
      }
      return { answer, isRefused: isRefusal(error) }
    }
  })
  return { decided, changes }
}

export const LEDGER_NAME = 'quota'
export const ledgerRef = (boundaryId: string) => ({ namespace: boundaryNamespace(boundaryId), name: LEDGER_NAME })

/**
 * Milliseconds for which a grant counts even if its resource has not been seen. After that, every cache has seen the
 * resource, or its write never happened: the grant of a crashed process expires by itself.
 */
export const UNSEEN_GRANT_TTL_MS = 30_000

export function grantKey(plural: string, resourceGroup: string, name: string): string {
  return `${plural}/${resourceGroup}/${name}`
}

/** The key under which a resource group counts among the groups of its boundary. */
export const groupGrantKey = (name: string) => grantKey('resourcegroups', '', name)
export const isGroupGrant = (key: string) => key.startsWith('resourcegroups/')

export function pluralOfGrant(key: string): string {
  return key.split('/')[0] ?? ''
}

export function groupOfGrant(key: string): string {
  return key.split('/')[1] ?? ''
}

export function grantOf({ cpu, memory, storage, pods }: Demand = NO_DEMAND, at: string): QuotaGrant {
  return { cpu: formatCores(cpu), memory: formatBytes(memory), storage: formatBytes(storage), pods, at }
}

export function demandOfGrant({ cpu, memory, storage, pods }: QuotaGrant): Demand {
  return { cpu: parseQuantity(cpu), memory: parseQuantity(memory), storage: parseQuantity(storage), pods }
}

export function isInFlight({ at }: QuotaGrant, now: number): boolean {
  return now - Date.parse(at) < UNSEEN_GRANT_TTL_MS
}

/** Whether `wanted` is at most `held` in every amount. */
export function coversDemand(held: Demand, wanted: Demand): boolean {
  const { cpu, memory, storage, pods } = wanted
  return cpu <= held.cpu && memory <= held.memory && storage <= held.storage && pods <= held.pods
}

function mergeDemands(a: Demand, b: Demand, pick: 'max' | 'min'): Demand {
  const of = <T extends bigint | number>(x: T, y: T) => (x > y === (pick === 'max') ? x : y)
  return {
    cpu: of(a.cpu, b.cpu),
    memory: of(a.memory, b.memory),
    storage: of(a.storage, b.storage),
    pods: of(a.pods, b.pods),
  }
}

/**
 * Returns what a resource holds of a quota: its grant, whatever it requests now. A smaller request frees nothing before
 * it is carried out, because the workload may keep running unchanged for long. Undefined while it waits for a grant.
 */
export function heldDemandOf(grant: QuotaGrant | undefined): Demand | undefined {
  return grant && demandOfGrant(grant)
}

/** What a resource holds while it changes to what it requests. */
export const maxDemand = (granted: Demand, demand: Demand) => mergeDemands(granted, demand, 'max')

/** What is left of a grant once the resource is as requested. Its volumes, and their storage, remain without pods. */
export function remainingDemand(demand: Demand, granted: Demand): Demand {
  const left = mergeDemands(granted, demand, 'min')
  return demand.pods > 0 ? left : { ...left, storage: granted.storage }
}

/**
 * A resource as quotas see it, and whether it was ever ready. `hasPlan` is false if its plan or the resource that it is
 * a part of is missing: it then requests nothing.
 */
export type SeenUser = QuotaUser & { readonly wasReady: boolean; readonly hasPlan: boolean }

/** Returns resources as they count against another. One without a plan counts only if granted: it may still run. */
export function usersAgainst(
  users: readonly SeenUser[],
  subject: Pick<SeenUser, 'wasReady' | 'held'>,
  grants: QuotaGrants,
): QuotaUser[] {
  const counted = users.filter(({ key, hasPlan }) => hasPlan || grants[key] !== undefined)
  return counted.map((user) => besideOther(user, subject, grants[user.key]))
}

/** Counts a resource with what it holds, or with what it requests while it waits for a grant. */
function besideOther(
  user: SeenUser,
  subject: Pick<SeenUser, 'wasReady' | 'held'>,
  grant: QuotaGrant | undefined,
): QuotaUser {
  const held = heldDemandOf(grant)
  // What ran before there was a limit has no grant, but precedes what is new or grows; age decides among these.
  const ranBefore = user.wasReady && (!subject.wasReady || subject.held !== undefined)
  return { ...user, demand: held ?? user.demand, isGranted: held !== undefined || ranBefore }
}

/** Grants of resources that are not visible yet, as users of the quota; expired grants are left out. */
export function unseenUsers(grants: QuotaGrants, isSeen: (key: string) => boolean, now: number): QuotaUser[] {
  return Object.entries(grants)
    .filter(([key, grant]) => !isSeen(key) && isInFlight(grant, now))
    .map(([key, grant]) => ({
      key,
      createdAt: grant.at,
      resourceGroup: groupOfGrant(key),
      demand: demandOfGrant(grant),
      isGranted: true,
    }))
}

/**
 * Returns the keys of expired grants without a resource: their amounts are free. Whoever uses the amounts removes the
 * grants in the same write; otherwise a later resource of that name would hold them a second time.
 */
export function expiredGrants(grants: QuotaGrants, isSeen: (key: string) => boolean, now: number): string[] {
  return Object.entries(grants).flatMap(([key, grant]) => (isSeen(key) || isInFlight(grant, now) ? [] : [key]))
}
