import { formatBytes, formatCores, parseQuantity } from '../quantity.ts'
import { compareTexts } from '../textOrder.ts'
import type { Demand } from './demand.ts'

/** Limits as a Boundary or ResourceGroup has them; absent is unlimited. */
export type QuotaLimits = {
  cpu?: string | undefined
  memory?: string | undefined
  storage?: string | undefined
  pods?: number | undefined
  resources?: number | undefined
  resourceGroups?: number | undefined
}

/** A resource with its demand. The older one comes first, then the smaller key, so that the order is total. */
export type QuotaUser = {
  key: string
  createdAt: string
  resourceGroup: string
  demand: Demand
  /** Whether it already has what it requests: it then precedes all that wait, whatever their age. */
  isGranted?: boolean
  /** Its present usage: a quota of which it requests no more does not refuse it, even if the limit was lowered. */
  held?: Demand | undefined
  /** Whether it is a part of a resource, and is not counted as a resource itself. */
  isPart?: boolean
  /** Whether these are volumes that a former resource of this key retained: they count as storage only. */
  isRetained?: boolean
}

export type QuotaName = 'cpu' | 'memory' | 'storage' | 'pods' | 'resources' | 'resourceGroups'

/** Amounts as people write them: quantities for cpu, memory and storage, numbers for counts. */
export type Exceeded = {
  kind: 'exceeded'
  at: 'boundary' | 'resourceGroup'
  quota: QuotaName
  limit: string
  used: string
  requested: string
}
export type QuotaResult = { kind: 'fits' } | Exceeded

/** Whether anything that resources ask for is limited; a limit on groups does not count. */
export function limitsAmounts(limits: QuotaLimits): boolean {
  return AMOUNTS.some((name) => limits[name] !== undefined)
}

const AMOUNTS = ['cpu', 'memory', 'storage', 'pods', 'resources'] as const
export type Amounts = Record<(typeof AMOUNTS)[number], bigint>

type Limits = { boundary: QuotaLimits; groups: ReadonlyMap<string, QuotaLimits> }

/**
 * Decides whether `subject` fits beside the other resources of its boundary. Granted resources count first, then the
 * waiting ones, oldest first; a waiting one that does not fit is skipped, and takes nothing from those behind it.
 *
 * @param others every other resource of the boundary, in any order; one with the key of `subject` is ignored
 * @param groups limits of the boundary's groups by name
 */
export function evaluateQuota(input: Limits & { subject: QuotaUser; others: Iterable<QuotaUser> }): QuotaResult {
  const { subject } = input
  const others = [...input.others].filter(({ key }) => key !== subject.key)
  const before = others.filter((other) => other.isGranted === true || byAge(other, subject) < 0)
  const kept = storageOf(others.filter(({ isRetained }) => isRetained === true))
  return usageCounter(input, before, kept).refusalOf(subject, amountsOf(subject)) ?? { kind: 'fits' }
}

/** Amounts that are taken, in the boundary and by group. */
export type Usage = { readonly boundary: Amounts; readonly groups: ReadonlyMap<string, Amounts> }

/** Returns what these users take together. */
export function usageOf(users: Iterable<QuotaUser>): Usage {
  let boundary = zero()
  const groups = new Map<string, Amounts>()
  for (const user of users) {
    const amounts = amountsOf(user)
    boundary = sum(boundary, amounts)
    groups.set(user.resourceGroup, sum(groups.get(user.resourceGroup) ?? zero(), amounts))
  }
  return { boundary, groups }
}

/**
 * Whether a waiting resource fits beside what is granted alone. If it does not, `evaluateQuota` refuses it, whatever
 * else waits: it need not be asked.
 *
 * @param granted of all resources; what `subject` holds of it is not counted against it
 */
export function mightFit(limits: Limits, granted: Usage, subject: QuotaUser): boolean {
  const wanted = amountsOf(subject)
  const held = subject.held === undefined ? zero() : amountsOf({ ...subject, demand: subject.held })
  const without = (used: Amounts = zero()) => (subject.held === undefined ? used : difference(used, held))
  const ofGroup = without(granted.groups.get(subject.resourceGroup))
  return (
    exceeded('resourceGroup', limits.groups.get(subject.resourceGroup), { used: ofGroup, wanted, held }) ===
      undefined &&
    exceeded('boundary', limits.boundary, { used: without(granted.boundary), wanted, held }) === undefined
  )
}

/** Returns the users that take a share of the quotas: those granted or retained, and those waiting that fit. */
export function countedUsers(limits: Limits, users: readonly QuotaUser[]): readonly QuotaUser[] {
  return usageCounter(limits, users, storageOf(users.filter(({ isRetained }) => isRetained === true))).counted
}

/** @param kept storage of former resources, by their key */
function usageCounter({ boundary, groups }: Limits, users: readonly QuotaUser[], kept: ReadonlyMap<string, bigint>) {
  const used = { boundary: zero(), groups: new Map<string, Amounts>() }
  const refusalOf = (user: QuotaUser, wanted: Amounts) => {
    const held = user.held === undefined ? zero() : amountsOf({ ...user, demand: user.held })
    const ofGroup = used.groups.get(user.resourceGroup) ?? zero()
    return (
      exceeded('resourceGroup', groups.get(user.resourceGroup), { used: ofGroup, wanted, held }) ??
      exceeded('boundary', boundary, { used: used.boundary, wanted, held })
    )
  }
  const granted = users.filter(({ isGranted }) => isGranted === true)
  const waiting = users.filter(({ isGranted }) => isGranted !== true).sort(byAge)
  const counted = [...granted, ...waiting].filter((user) => {
    const wanted = amountsOf(user)
    if (user.isRetained !== true) wanted.storage = excessOf(wanted.storage, kept.get(user.key))
    if (user.isGranted !== true && refusalOf(user, wanted) !== undefined) return false
    used.groups.set(user.resourceGroup, sum(used.groups.get(user.resourceGroup) ?? zero(), wanted))
    used.boundary = sum(used.boundary, wanted)
    return true
  })
  return { counted, refusalOf }
}

/**
 * Returns the storage of retained volumes that counts beside resources. A resource that may adopt retained volumes
 * counts with the larger of the two, not with both; otherwise it would be refused for lack of what it already has.
 *
 * @param users resources, with their keys
 */
export function extraRetainedStorage(retained: readonly QuotaUser[], users: readonly Keyed[]): bigint {
  const own = storageOf(users)
  return retained.reduce((all, { key, demand }) => all + excessOf(demand.storage, own.get(key)), 0n)
}

type Keyed = Pick<QuotaUser, 'key' | 'demand'>

function storageOf(users: readonly Keyed[]): ReadonlyMap<string, bigint> {
  return new Map(users.map(({ key, demand }) => [key, demand.storage]))
}

function excessOf(storage: bigint, counted = 0n): bigint {
  return storage > counted ? storage - counted : 0n
}

/**
 * Decides whether a group is among the first ones, up to the number that the boundary may have.
 *
 * @param others the other groups of the boundary
 */
export function evaluateGroupCount(
  limits: QuotaLimits,
  subject: { key: string; createdAt: string },
  others: Iterable<{ key: string; createdAt: string; isGranted?: boolean }>,
): QuotaResult {
  const limit = limits.resourceGroups
  if (limit === undefined) return { kind: 'fits' }
  const isBefore = (other: Parameters<typeof byAge>[0] & { isGranted?: boolean }) =>
    other.isGranted === true || byAge(other, subject) < 0
  const used = [...others].filter((other) => other.key !== subject.key && isBefore(other)).length
  if (used < limit) return { kind: 'fits' }
  return {
    kind: 'exceeded',
    at: 'boundary',
    quota: 'resourceGroups',
    limit: String(limit),
    used: String(used),
    requested: '1',
  }
}

/** The sentence of a condition or refusal: which limit, how much of it is taken, and what was asked for. */
export function quotaSentence({ at, quota, limit, used, requested }: Exceeded): string {
  const owner = at === 'boundary' ? "The boundary's" : "The resource group's"
  return `${owner} quota of ${quota} is ${limit}; ${used} is used and ${requested} more was requested.`
}

function exceeded(
  at: Exceeded['at'],
  limits: QuotaLimits | undefined,
  { used, wanted, held }: { used: Amounts; wanted: Amounts; held: Amounts },
): Exceeded | undefined {
  for (const quota of AMOUNTS) {
    const limit = limits?.[quota]
    if (limit === undefined || wanted[quota] <= held[quota]) continue
    const amount = parseQuantity(String(limit))
    if (used[quota] + wanted[quota] <= amount) continue
    const show = SHOWN[quota]
    // What it holds is shown as used, and only the rest as requested.
    const [total, more] = [used[quota] + held[quota], wanted[quota] - held[quota]]
    return { kind: 'exceeded', at, quota, limit: show(amount), used: show(total), requested: show(more) }
  }
  return undefined
}

const count = (thousandths: bigint) => String(thousandths / 1000n)
const SHOWN: Record<(typeof AMOUNTS)[number], (thousandths: bigint) => string> = {
  cpu: formatCores,
  memory: formatBytes,
  storage: formatBytes,
  pods: count,
  resources: count,
}

/** In thousandths, exactly; a resource counts as one of `resources` whatever it asks for. */
function amountsOf({ demand: { pods, ...demand }, isPart, isRetained }: QuotaUser): Amounts {
  return { ...demand, pods: BigInt(pods) * 1000n, resources: isPart === true || isRetained === true ? 0n : 1000n }
}

function zero(): Amounts {
  return { cpu: 0n, memory: 0n, storage: 0n, pods: 0n, resources: 0n }
}

function sum(a: Amounts, b: Amounts): Amounts {
  return {
    cpu: a.cpu + b.cpu,
    memory: a.memory + b.memory,
    storage: a.storage + b.storage,
    pods: a.pods + b.pods,
    resources: a.resources + b.resources,
  }
}

function difference(a: Amounts, b: Amounts): Amounts {
  return Object.fromEntries(AMOUNTS.map((name) => [name, a[name] - b[name]])) as Amounts
}

function byAge(a: { key: string; createdAt: string }, b: { key: string; createdAt: string }): number {
  return compareTexts(a.createdAt, b.createdAt) || compareTexts(a.key, b.key)
}
