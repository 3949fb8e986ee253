import { formatBytes, formatCores, parseQuantity } from '../quantity.ts'
import { type Demand, NOTHING } from './demand.ts'
import type { QuotaUser } from './quota.ts'

/** What a resource was granted of the quotas above it, over all its replicas, and when (RFC 3339). */
export type Grant = { cpu: string; memory: string; storage: string; pods: number; at: string }
/** By `grantKey`. */
export type Grants = Readonly<Record<string, Grant>>

export const LEDGER_NAME = 'quota'

/**
 * Milliseconds for which a grant counts whether or not its resource has been seen. After it, every cache has the
 * resource, or the write that it was for never happened: the grant of a process that crashed expires by itself.
 */
export const IN_FLIGHT = 30_000

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

export function grantOf({ cpu, memory, storage, pods }: Demand = NOTHING, at: string): Grant {
  return { cpu: formatCores(cpu), memory: formatBytes(memory), storage: formatBytes(storage), pods, at }
}

export function demandOfGrant({ cpu, memory, storage, pods }: Grant): Demand {
  return { cpu: parseQuantity(cpu), memory: parseQuantity(memory), storage: parseQuantity(storage), pods }
}

export function isInFlight({ at }: Grant, now: number): boolean {
  return now - Date.parse(at) < IN_FLIGHT
}

/** Whether nothing of `wanted` is more than what is held. */
export function covers(held: Demand, wanted: Demand): boolean {
  const { cpu, memory, storage, pods } = wanted
  return cpu <= held.cpu && memory <= held.memory && storage <= held.storage && pods <= held.pods
}

function merged(a: Demand, b: Demand, pick: 'most' | 'least'): Demand {
  const of = <T extends bigint | number>(x: T, y: T) => (x > y === (pick === 'most') ? x : y)
  return {
    cpu: of(a.cpu, b.cpu),
    memory: of(a.memory, b.memory),
    storage: of(a.storage, b.storage),
    pods: of(a.pods, b.pods),
  }
}

/**
 * What a resource uses of a quota, as others see it: what it was granted, whatever it asks for by now. A request for less frees
 * nothing before it is carried out, since what runs may go on as it is for long. Undefined without a grant, for which it still waits.
 */
export function heldOf(grant: Grant | undefined): Demand | undefined {
  return grant && demandOfGrant(grant)
}

/** What a resource holds while it becomes what it asks for. */
export const mostOf = (granted: Demand, demand: Demand) => merged(granted, demand, 'most')

/** What a grant leaves of itself to a resource that is as it asks. Volumes stay where nothing runs, however few are asked for. */
export function leftOf(demand: Demand, granted: Demand): Demand {
  const left = merged(granted, demand, 'least')
  return demand.pods > 0 ? left : { ...left, storage: granted.storage }
}

/**
 * A resource as quotas see it, with whether it was ever ready, and whether its plan exists, and what it is a part of; it asks for
 * nothing without.
 */
export type SeenUser = QuotaUser & { readonly wasReady: boolean; readonly hasPlan: boolean }

/** Resources as they count for another: without a plan only with what they were granted before, which may go on. */
export function besideOthers(
  users: readonly SeenUser[],
  subject: Pick<SeenUser, 'wasReady' | 'held'>,
  grants: Grants,
): QuotaUser[] {
  const counted = users.filter(({ key, hasPlan }) => hasPlan || grants[key] !== undefined)
  return counted.map((user) => besideOther(user, subject, grants[user.key]))
}

/** With what it holds, or with what it requests while it waits for a grant. */
function besideOther(
  user: SeenUser,
  subject: Pick<SeenUser, 'wasReady' | 'held'>,
  grant: Grant | undefined,
): QuotaUser {
  const held = heldOf(grant)
  // What ran before there was a limit has no grant, and still comes before what is new or grows; among such, age decides.
  const ranBefore = user.wasReady && (!subject.wasReady || subject.held !== undefined)
  return { ...user, demand: held ?? user.demand, isGranted: held !== undefined || ranBefore }
}

/** Grants of resources that are not visible yet, as users of the quota; expired grants are left out. */
export function unseenUsers(grants: Grants, isSeen: (key: string) => boolean, now: number): QuotaUser[] {
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
 * Grants whose time is over and whose resource is not there: their room is free. Whoever takes it takes them out in the same write, as
 * a later resource of that name would have them beside what took the room.
 */
export function lapsedGrants(grants: Grants, isSeen: (key: string) => boolean, now: number): string[] {
  return Object.entries(grants).flatMap(([key, grant]) => (isSeen(key) || isInFlight(grant, now) ? [] : [key]))
}
