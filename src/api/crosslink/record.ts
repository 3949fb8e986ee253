import { X509Certificate } from 'node:crypto'
import { z } from 'zod'
import { LINK_STATUS, SITE_ROLE, SITE_STATUS, type StoredReport, withConflicts } from '../../contracts/crosslink.ts'
import { RESOURCE_STATES, type Summary, summaryOf } from '../../core/conditions.ts'
import { OUTGOING_URL_PATTERNS } from '../../core/outgoingUrl.ts'
import type { BoundaryCrosslink } from '../../crds/crosslink.ts'
import { integerBetween, matching, PlainText, Prose } from '../../crds/fields.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import type { RecordOf } from '../records/records.ts'
import { DateTime, ignoredFields, Uuid } from '../resources/dto.ts'

/** Records of links between clusters (interface section 2, records section 1 "Crosslink"). */

export type CrosslinkRecord = RecordOf<typeof BoundaryCrosslink>

const Line = PlainText.min(1).max(253)
const Reason = PlainText.max(1024).nullish()
const CERTIFICATES_MAX = 65_536

function isPem(text: string): boolean {
  try {
    return new X509Certificate(text).raw.length > 0
  } catch {
    return false
  }
}
const CaPem = z
  .string()
  .max(CERTIFICATES_MAX)
  .refine(isPem, 'must be certificates in PEM')
  .meta({ pattern: '-----BEGIN CERTIFICATE-----' })

export const CrosslinkAccessGrant = strictRecord('CrosslinkAccessGrant', {
  caPem: CaPem,
  code: PlainText.min(1).max(512).describe('Shown to whoever may link a spoke'),
  expiresUtc: DateTime,
  hubEndpoint: PlainText.max(512).describe('Where the spoke links to'),
  url: matching(2048, OUTGOING_URL_PATTERNS.https, 'must be an https address without a user').describe(
    'Where the code is redeemed',
  ),
})

export const CrosslinkCaReport = strictRecord('CrosslinkCaReport', {
  certificatePem: Prose.max(CERTIFICATES_MAX),
  expiresUtc: DateTime,
  fingerprint: PlainText.max(256),
  issuedUtc: DateTime,
  version: z.int(),
})
const CrosslinkExposureReport = strictRecord('CrosslinkExposureReport', {
  clusterId: Uuid,
  isConflict: z.boolean().nullish(),
  kind: Line,
  namespace: Line,
  podSelector: PlainText.max(1024).nullish(),
  publishedPort: integerBetween(1, 65_535),
  routingKey: Line,
  serviceName: Line,
  statusReason: Reason,
})
const number = (values: Readonly<Record<string, number>>) => integerBetween(0, Object.keys(values).length - 1)
const CrosslinkSiteReport = strictRecord('CrosslinkSiteReport', {
  clusterId: Uuid,
  linkStatus: number(LINK_STATUS).describe('0 not applicable, 1 connecting, 2 connected, 3 disconnected'),
  observedPkiVersion: integerBetween(0, 1_000_000).nullish(),
  role: number(SITE_ROLE).describe('0 hub, 1 spoke'),
  status: number(SITE_STATUS).describe('0 provisioning, 1 active, 2 degraded, 3 failed'),
  statusReason: Reason,
})
export const CrosslinkStatusReport = strictRecord('CrosslinkStatusReport', {
  ca: CrosslinkCaReport.nullish().describe('Of the platform; what an agent says of it is not read'),
  exposures: z.array(CrosslinkExposureReport).max(500),
  observedAtUtc: DateTime,
  sites: z.array(CrosslinkSiteReport).max(100),
})

export const CrosslinkDto = namedRecord('CrosslinkDto', {
  enabled: z.boolean(),
  hubClusterId: Uuid.nullable(),
  hubClusterName: z.string().nullable(),
  pkiVersion: z.int().describe('Version of the authority that is wanted'),
  status: z.enum(RESOURCE_STATES),
  phase: z.string().nullable(),
  statusMessage: z.string().nullable(),
  siteCount: z.int(),
  connectedCount: z.int().describe('Spokes that are linked'),
  exposureCount: z.int(),
  conflictCount: z.int().describe('Exposures that share a routing key, or a service name and port, with another'),
})

const WRITABLE = {
  enabled: z.boolean(),
  hubClusterId: Uuid.nullish().describe('The cluster that spokes link to; needed while enabled'),
}
export const CrosslinkUpdateRequest = strictRecord('CrosslinkUpdateRequest', {
  ...WRITABLE,
  ...ignoredFields(Object.keys(CrosslinkDto.shape).filter((name) => !Object.hasOwn(WRITABLE, name))),
})

/** Returns all sites, including a hub on the platform's own cluster, which no agent reports. */
function sitesOf(record: CrosslinkRecord | undefined, report: StoredReport) {
  const { spec, status } = record ?? {}
  const sites = report.sites ?? []
  const { hubClusterId } = spec ?? {}
  if (status?.hub === undefined || hubClusterId === undefined) return sites
  if (sites.some(({ clusterId }) => clusterId === hubClusterId)) return sites
  const { version } = status.ca ?? {}
  const hub = { clusterId: hubClusterId, role: SITE_ROLE.hub, status: status.hub.status, observedPkiVersion: version }
  return [{ ...hub, linkStatus: LINK_STATUS.notApplicable, observedAtUtc: undefined }, ...sites]
}

/** @param now the observation time if there is no report yet */
export function statusReport(
  record: CrosslinkRecord | undefined,
  now: string,
  report: StoredReport = record?.status ?? {},
) {
  const observedTimes = (report.sites ?? []).map(({ observedAtUtc }) => observedAtUtc).sort()
  return {
    ca: record?.status?.ca ?? null,
    exposures: withConflicts(report.exposures ?? []).map((each) => ({
      ...each,
      podSelector: each.podSelector ?? null,
      statusReason: each.statusReason ?? null,
    })),
    observedAtUtc: observedTimes.at(-1) ?? now,
    sites: sitesOf(record, report).map(({ observedAtUtc: _, ...site }) => ({
      ...site,
      observedPkiVersion: site.observedPkiVersion ?? null,
      statusReason: ('statusReason' in site ? site.statusReason : undefined) ?? null,
    })),
  }
}

const STOPPED_SUMMARY: Summary = { status: 'Stopped', phase: null, statusMessage: null }

export function crosslinkDto(record: CrosslinkRecord | undefined, hubClusterName: string | null) {
  const { spec, status } = record ?? {}
  const sites = sitesOf(record, status ?? {})
  const exposures = withConflicts(status?.exposures ?? [])
  return {
    ...{ enabled: spec?.enabled ?? false, hubClusterId: spec?.hubClusterId ?? null, hubClusterName },
    pkiVersion: spec?.pkiVersion ?? 1,
    ...(record === undefined ? STOPPED_SUMMARY : summaryOf(record)),
    siteCount: sites.length,
    connectedCount: sites.filter(({ linkStatus }) => linkStatus === LINK_STATUS.connected).length,
    exposureCount: exposures.length,
    conflictCount: exposures.filter(({ isConflict }) => isConflict).length,
  }
}
