import type { z } from 'zod'
import type { CrosslinkReport } from '../../contracts/crosslink.ts'
import { timestamp } from '../../core/clock.ts'
import { PlatformError } from '../../core/errors.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { BoundaryCrosslink } from '../../crds/crosslink.ts'
import { BoundaryProjection } from '../../crds/projections.ts'
import { accepted, ok } from '../http/answer.ts'
import type { Context, Services } from '../http/context.ts'
import { etagHeader, etagOf } from '../http/etag.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import type { SecretReader, SecretWriter } from '../records/secrets.ts'
import { clusterInfo, defaultCluster } from '../resources/find.ts'
import { pollUntilChanged } from '../resources/pollUntilChanged.ts'
import { requireMatch } from '../resources/writes.ts'
import { type CrosslinkContext, crosslinkRef, findCrosslink, findEnabledCrosslink } from './find.ts'
import { grantReadRoute, grantRoute } from './grants.ts'
import {
  CrosslinkCaReport,
  CrosslinkDto,
  type CrosslinkRecord,
  CrosslinkStatusReport,
  CrosslinkUpdateRequest,
  crosslinkDto,
  statusReport,
} from './record.ts'
import { type CrosslinkReports, crosslinkDisabled } from './reports.ts'

declare module '../http/context.ts' {
  interface Services {
    readonly crosslink: { readonly reports: CrosslinkReports; readonly secrets: SecretReader & SecretWriter }
  }
}

const admin = action('crosslink/admin')
const read = action('boundaries/read')

function toDto({ services }: CrosslinkContext, found: CrosslinkRecord | undefined) {
  const { hubClusterId } = found?.spec ?? {}
  const name = hubClusterId === undefined ? null : clusterInfo(services, hubClusterId).name
  return ok(crosslinkDto(found, name), etagHeader(found))
}

/** Returns whether the boundary is projected on a cluster. */
function isProjected(services: Services, boundaryId: string, clusterId: string): boolean {
  const ref = { namespace: boundaryNamespace(boundaryId), name: clusterId }
  return clusterId === defaultCluster(services).id || services.records.peek(BoundaryProjection, ref) !== undefined
}

function notProjected(field: string, value: string): PlatformError {
  const message = `The boundary is not projected on cluster "${value}".`
  return new PlatformError('CLUSTER_NOT_PROJECTED', message, { field, value })
}

/** A boundary has one crosslink, so PUT also creates it. @throws PlatformError CLUSTER_NOT_PROJECTED, INVALID_STATE */
async function update(context: CrosslinkContext<unknown, z.output<typeof CrosslinkUpdateRequest>>) {
  const { services, caller, ifMatch, body, parameters } = context
  const { enabled, hubClusterId = null } = body
  await findCrosslink(context)
  if (hubClusterId !== null && !isProjected(services, parameters.boundaryId, hubClusterId))
    throw notProjected('hubClusterId', hubClusterId)
  const ref = crosslinkRef(parameters)
  const wanted = { enabled, ...(hubClusterId !== null && { hubClusterId }) }
  const stored = await services.records.get(BoundaryCrosslink, ref, { fresh: true })
  if (stored === undefined) {
    await requireMatch(BoundaryCrosslink, ref, context as Context)
    const request = { ...ref, spec: wanted, caller, isSame: () => true }
    const { object, isNew } = await services.records.create(BoundaryCrosslink, request)
    // Otherwise another caller has just created it, and it is updated like any other.
    if (isNew) return toDto(context, object)
  }
  const { object } = await services.records.update(BoundaryCrosslink, ref, {
    ...{ caller, ifMatch, fresh: true },
    change: ({ spec, status }) => {
      const { hubClusterId: before, ...kept } = spec
      if (enabled && status?.status === 'Running' && (before ?? null) !== hubClusterId) {
        const message = 'The hub is active: set enabled to false before you choose another one.'
        throw new PlatformError('INVALID_STATE', message, { status: status.status, phase: status.phase ?? null })
      }
      return { ...kept, ...wanted }
    },
  })
  return toDto(context, object)
}

/** How long a new CA may take, in milliseconds. */
const ROTATION_TIMEOUT_MS = 10_000

/** @throws PlatformError CROSSLINK_DISABLED, ROTATION_RUNNING, SERVICE_UNAVAILABLE */
async function rotate(context: CrosslinkContext) {
  const { services, caller, parameters } = context
  await findEnabledCrosslink(context)
  const ref = crosslinkRef(parameters)
  const { object } = await services.records.update(BoundaryCrosslink, ref, {
    ...{ caller, fresh: true, isOnce: true },
    change: ({ spec, status }) => {
      if (!spec.enabled) throw crosslinkDisabled()
      if (status?.rotation !== undefined || status?.ca?.version !== spec.pkiVersion)
        throw new PlatformError(
          'ROTATION_RUNNING',
          'The authority is already being replaced: wait until that has ended.',
        )
      return { ...spec, pkiVersion: spec.pkiVersion + 1 }
    },
  })
  const wantedVersion = object.spec.pkiVersion
  const hasVersion = async () =>
    (services.records.peek(BoundaryCrosslink, ref)?.status?.ca?.version ?? 0) >= wantedVersion
  const isRotated = await pollUntilChanged(context as Context, hasVersion, ROTATION_TIMEOUT_MS)
  const current = services.records.peek(BoundaryCrosslink, ref)
  if (isRotated && current?.status?.ca !== undefined) return accepted(current.status.ca, { etag: etagOf(current) })
  const message = 'The rotation was accepted, but the new authority is not ready yet: see the status.'
  throw new PlatformError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 5 })
}

/** @throws PlatformError CROSSLINK_DISABLED, CLUSTER_NOT_PROJECTED */
async function report(context: CrosslinkContext<unknown, z.output<typeof CrosslinkStatusReport>>) {
  const { services, parameters, body } = context
  const found = await findEnabledCrosslink(context)
  for (const [list, rows] of [
    ['sites', body.sites],
    ['exposures', body.exposures],
  ] as const)
    for (const [index, { clusterId }] of rows.entries())
      if (!isProjected(services, parameters.boundaryId, clusterId))
        throw notProjected(`${list}.${index}.clusterId`, clusterId)
  const ref = crosslinkRef(parameters)
  const storedReport = await services.crosslink.reports.record(ref, acceptedReport(body), services.clock.now())
  const written = (await services.records.get(BoundaryCrosslink, ref, { fresh: true })) ?? found
  return ok(statusReport(written, timestamp(services.clock.now()), storedReport), { etag: etagOf(written) })
}

/** Returns the fields of a report that count: CA and conflicts are determined by the platform. */
function acceptedReport({ observedAtUtc, sites, exposures }: z.output<typeof CrosslinkStatusReport>): CrosslinkReport {
  const known = (row: object) =>
    Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null && value !== undefined))
  return {
    observedAtUtc,
    sites: sites.map(known) as unknown as CrosslinkReport['sites'],
    exposures: exposures.map(({ isConflict: _, ...each }) => known(each)) as unknown as CrosslinkReport['exposures'],
  }
}

export const crosslinkRoutes: readonly RouteDraft[] = [
  grantRoute,
  route('POST', '{B}/crosslink/pki/rotate', {
    auth: admin,
    summary: 'Replace the authority that signs for sites, in three steps',
    reply: CrosslinkCaReport,
    handler: rotate as never,
  }),
  route('POST', '{B}/crosslink/status', {
    auth: admin,
    summary: 'Report what an agent sees of its site; an outdated report changes nothing',
    body: CrosslinkStatusReport,
    reply: CrosslinkStatusReport,
    handler: report as never,
  }),
  route('GET', '{B}/crosslink', {
    auth: read,
    summary: 'Whether the clusters of the boundary are linked, and how',
    reply: CrosslinkDto,
    handler: async (context) => toDto(context as never, await findCrosslink(context as never)),
  }),
  route('PUT', '{B}/crosslink', {
    auth: admin,
    summary: 'Link the clusters of the boundary through a hub, or unlink them',
    body: CrosslinkUpdateRequest,
    example: { enabled: false },
    reply: CrosslinkDto,
    handler: update as never,
  }),
  route('GET', '{B}/crosslink/status', {
    auth: read,
    summary: 'Sites and what they expose, as their agents report it',
    reply: CrosslinkStatusReport,
    handler: async (context) => {
      const found = await findCrosslink(context as never)
      return ok(statusReport(found, timestamp(context.services.clock.now())), etagHeader(found))
    },
  }),
  grantReadRoute,
]
