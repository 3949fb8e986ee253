import { DAY_MS, timestamp } from '../core/clock.ts'
import { isRecord } from '../core/isRecord.ts'
import { compareTexts } from '../core/textOrder.ts'
import { tryParseJson } from '../core/tryParseJson.ts'

/** What the facade, agents and the controller share about links between the clusters of a boundary. */

/** Name of the only crosslink of a boundary. */
export const CROSSLINK_NAME = 'crosslink'
/** Secrets in the namespace of the boundary: the authority that signs, and the open grants. */
export const CROSSLINK_CA_SECRET = 'crosslink-ca'
export const CROSSLINK_GRANTS_SECRET = 'crosslink-grants'

/** Numbers of the interface (section 2, "Boundaries"). */
export const LINK_STATUS = { notApplicable: 0, connecting: 1, connected: 2, disconnected: 3 } as const
export const SITE_ROLE = { hub: 0, spoke: 1 } as const
export const SITE_STATUS = { provisioning: 0, active: 1, degraded: 2, failed: 3 } as const

/** Milliseconds for which a spoke may use a grant. */
export const GRANT_TTL_MS = 600_000
/** Milliseconds after which a rotation drops the old authority, even if a site has not reported the new one. */
export const ROTATION_TIMEOUT_MS = DAY_MS
const SITES_MAX = 100
const EXPOSURES_MAX = 1000
/** Maximum bytes of sites and exposures. Their object may have 1.5 MiB, with an authority of up to 64 KiB. */
const MAX_REPORT_BYTES = 1_000_000

export type CrosslinkSite = {
  readonly clusterId: string
  readonly role: number
  readonly status: number
  readonly linkStatus: number
  readonly observedPkiVersion?: number | undefined
  readonly statusReason?: string | undefined
}
export type CrosslinkExposure = {
  readonly clusterId: string
  readonly kind: string
  readonly namespace: string
  readonly podSelector?: string | undefined
  readonly publishedPort: number
  readonly routingKey: string
  readonly serviceName: string
  readonly statusReason?: string | undefined
}
export type CrosslinkReport = {
  readonly observedAtUtc: string
  readonly sites: readonly CrosslinkSite[]
  readonly exposures: readonly CrosslinkExposure[]
}
/** A stored report; each site has the time of the report that it comes from. */
export type StoredReport = {
  readonly sites?: readonly (CrosslinkSite & { readonly observedAtUtc: string })[] | undefined
  readonly exposures?: readonly CrosslinkExposure[] | undefined
}

/** A stored report with both lists. */
export type KnownReport = {
  readonly sites: NonNullable<StoredReport['sites']>
  readonly exposures: NonNullable<StoredReport['exposures']>
}

/** The clock of a site may be fast: a time in the future counts as now, so that its later reports still count. */
const timeOf = (time: string | undefined, now: number) =>
  time === undefined ? Number.NEGATIVE_INFINITY : Math.min(Date.parse(time), now)

/**
 * Merges a report into what is known. It covers its own sites and their exposures, and replaces everything known about
 * them; for a site that has reported something newer it is ignored.
 *
 * @param now the milliseconds since 1970
 */
export function withReport(
  { sites = [], exposures = [] }: StoredReport,
  report: CrosslinkReport,
  now: number,
): KnownReport {
  const isAhead = Date.parse(report.observedAtUtc) > now
  const observedAtUtc = isAhead ? timestamp(now) : report.observedAtUtc
  const known = new Map(sites.map((site) => [site.clusterId, site]))
  const isNewer = (clusterId: string) =>
    timeOf(known.get(clusterId)?.observedAtUtc, now) <= timeOf(report.observedAtUtc, now)
  const reported = report.sites.filter(({ clusterId }) => isNewer(clusterId))
  for (const site of reported) {
    const linkStatus = site.role === SITE_ROLE.hub ? LINK_STATUS.notApplicable : site.linkStatus
    known.set(site.clusterId, { ...site, linkStatus, observedAtUtc })
  }
  const reportedIds = new Set(reported.map(({ clusterId }) => clusterId))
  const kept = byId([...known.values()]).slice(0, SITES_MAX)
  const all = [
    ...exposures.filter(({ clusterId }) => !reportedIds.has(clusterId)),
    ...report.exposures.filter(({ clusterId }) => reportedIds.has(clusterId)),
  ]
  return { sites: kept, exposures: limitFairly(all, MAX_REPORT_BYTES - bytesOf(kept)) }
}

const byId = <T extends { clusterId: string }>(list: readonly T[]) =>
  list.toSorted((one, other) => compareTexts(one.clusterId, other.clusterId))

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value))

/** Keeps as many as fit. Clusters take turns with one each, so that none displaces the exposures of another. */
function limitFairly(exposures: readonly CrosslinkExposure[], maxBytes: number): CrosslinkExposure[] {
  const turns = new Map<string, number>()
  const waiting = byId(exposures).map((exposure) => {
    const turn = turns.get(exposure.clusterId) ?? 0
    turns.set(exposure.clusterId, turn + 1)
    return { exposure, turn }
  })
  let left = maxBytes
  const kept: CrosslinkExposure[] = []
  for (const { exposure } of waiting.toSorted((one, other) => one.turn - other.turn)) {
    left -= bytesOf(exposure) + 1
    if (left < 0 || kept.length >= EXPOSURES_MAX) break
    kept.push(exposure)
  }
  return byId(kept)
}

/** Marks exposures that share a routing key, or a service name and port: none of them can be published. */
export function withConflicts(
  exposures: readonly CrosslinkExposure[],
): (CrosslinkExposure & { isConflict: boolean })[] {
  const keysOf = ({ routingKey, serviceName, publishedPort }: CrosslinkExposure) => [
    `key ${routingKey}`,
    `service ${serviceName}:${publishedPort}`,
  ]
  const uses = new Map<string, number>()
  for (const key of exposures.flatMap(keysOf)) uses.set(key, (uses.get(key) ?? 0) + 1)
  return exposures.map((each) => ({ ...each, isConflict: keysOf(each).some((key) => (uses.get(key) ?? 0) > 1) }))
}

/** Whether every site has reported this version. True if there are no sites. */
export function isKnownEverywhere({ sites = [] }: StoredReport, version: number): boolean {
  return sites.every(({ observedPkiVersion = 0 }) => observedPkiVersion >= version)
}

export type Grant = {
  readonly caPem: string
  readonly code: string
  readonly expiresUtc: string
  readonly hubEndpoint: string
  readonly url: string
}
/** Entries of the Secret of grants: those that agents of the hub reported, those that we issued, and who has which. */
export type GrantEntries = { readonly reported?: string; readonly issued?: string; readonly taken?: string }

const GRANTS_MAX = 20

/** Parses an entry; if somebody has damaged it, returns only its intact items. */
function listOf<T>(text: string | undefined): T[] {
  const read = tryParseJson(text ?? '[]')
  const isWhole = (each: unknown) =>
    isRecord(each) && typeof each.code === 'string' && typeof each.expiresUtc === 'string'
  return Array.isArray(read) ? read.filter(isWhole) : []
}

const isOpen = (now: number) => (each: { expiresUtc: string }) => Date.parse(each.expiresUtc) > now

/** Adds a grant to an entry, and drops expired ones. */
export function withGrant(entry: string | undefined, grant: Grant, now: number): string {
  return JSON.stringify([...listOf<Grant>(entry).filter(isOpen(now)), grant].slice(-GRANTS_MAX))
}

/** Returns the newest grant of the hub; undefined if it has expired. */
export function newestGrant({ issued }: GrantEntries, now: number): Grant | undefined {
  return listOf<Grant>(issued).filter(isOpen(now)).at(-1)
}

type IssuedGrant = { readonly clusterId: string; readonly code: string; readonly expiresUtc: string }

/**
 * Returns the grant of a spoke: the one that it already has while that is valid, otherwise one that no spoke has. The
 * caller must store `taken` before it shows the grant; `taken` is undefined if it is stored already.
 */
export function selectSpokeGrant(
  entries: GrantEntries,
  clusterId: string,
  now: number,
): { readonly grant: Grant; readonly taken: string | undefined } | undefined {
  const grants = [...listOf<Grant>(entries.reported), ...listOf<Grant>(entries.issued)].filter(isOpen(now))
  const assigned = listOf<IssuedGrant>(entries.taken).filter(isOpen(now))
  const own = assigned.find((each) => each.clusterId === clusterId)
  const known = grants.find(({ code }) => code === own?.code)
  if (known !== undefined) return { grant: known, taken: undefined }
  const grant = grants.findLast(({ code }) => !assigned.some((each) => each.code === code))
  if (grant === undefined) return undefined
  const { code, expiresUtc } = grant
  const others = assigned.filter((each) => each.clusterId !== clusterId)
  return { grant, taken: JSON.stringify([...others, { clusterId, code, expiresUtc }]) }
}
