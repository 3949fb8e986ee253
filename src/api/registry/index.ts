import { z } from 'zod'
import { isRegistryError } from '../../adapters/registry/port.ts'
import { AUDIT_ACTIONS, AUDIT_OUTCOMES } from '../../contracts/registry/audit.ts'
import { createPinMatcher } from '../../contracts/registry/retention.ts'
import { notFound, PlatformError } from '../../core/errors.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { matching } from '../../crds/fields.ts'
import { RegistryPin } from '../../crds/registry.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action, checkedByHandler, type RouteDraft, route } from '../http/route.ts'
import { listRoute } from '../resources/collection/columns.ts'
import { DateTime, Uuid, wholeRecord } from '../resources/dto.ts'
import { dateTime, text } from '../resources/paging.ts'
import { mintRoutes } from './mint.ts'
import { notifyRoutes } from './notify.ts'
import { pinRoutes } from './pins.ts'
import { retentionRoutes } from './retention.ts'
import { knownRepository, rightsNow } from './rights.ts'
import { registryOf } from './service.ts'
import { tokenRoutes } from './token.ts'

const ManifestDto = namedRecord('ManifestDto', {
  repository: z.string(),
  tag: z.string(),
  digest: z.string(),
  mediaType: z.string(),
  sizeBytes: z.int().describe('The total of the manifest and everything that it names'),
  platforms: z.array(z.string()),
  createdAt: DateTime.nullable(),
  labels: z.record(z.string(), z.string()),
  isPinned: z.boolean(),
  isRunning: z.boolean(),
})

const ManifestQuery = z.object({
  repository: z.string().min(1).max(255).describe('The repository, from its first part on'),
  tag: matching(128, /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/, 'must be a tag')
    .default('latest')
    .describe('The tag; latest when absent'),
})

/** Reads a manifest and what only its configuration tells. @throws PlatformError UPSTREAM_FAILED */
async function readImage({ services, signal }: Context, repository: string, tag: string) {
  const { registry } = registryOf(services)
  try {
    const manifest = await registry.manifest(repository, tag, { signal })
    const { configuration = '' } = manifest ?? {}
    const details = configuration === '' ? undefined : await registry.details(repository, configuration, { signal })
    return { manifest, details }
  } catch (error) {
    if (!isRegistryError(error)) throw error
    throw new PlatformError('UPSTREAM_FAILED', error.message, {}, { cause: error })
  }
}

/** Callers without the right to pull get the same answer as for a missing repository. */
async function readManifest(context: Context<string, z.output<typeof ManifestQuery>>) {
  const { services, caller, query } = context
  const { uses } = registryOf(services)
  const { repository, tag } = query
  const missing = notFound(`The tag "${tag}" of repository "${repository.slice(0, 200)}"`)
  const name = await knownRepository(services, caller.principalId, repository)
  if (name === undefined || !(await rightsNow(services, caller.principalId, name, ['pull'])).has('pull')) throw missing
  const { manifest, details } = await readImage(context, repository, tag)
  if (manifest === undefined) throw missing
  const { digest, mediaType, sizeBytes, platforms } = manifest
  const now = services.clock.now()
  const pins = services.records
    .peekAll(RegistryPin, { namespace: boundaryNamespace(name.boundaryId) })
    .flatMap(({ spec }) => (spec.repository === repository && Date.parse(spec.expiresAt) > now ? [spec] : []))
  const { running } = (await uses())(repository)
  return ok({
    ...{ repository, tag, digest, mediaType, sizeBytes },
    platforms: platforms.length > 0 ? [...platforms] : [details?.platform ?? []].flat(),
    createdAt: details?.createdAt ?? null,
    labels: { ...details?.labels },
    isPinned: createPinMatcher(pins)(digest),
    isRunning: running.digests.has(digest) || running.tags.has(tag),
  })
}

const manifestRoutes: readonly RouteDraft[] = [
  route('GET', '/v1/internal/registries/manifests', {
    auth: checkedByHandler('the right to pull from the repository that the request names'),
    summary: 'The manifest that a tag of a repository points to',
    query: ManifestQuery,
    reply: ManifestDto,
    handler: readManifest,
  }),
]

const RegistryAuditEntryDto = namedRecord('RegistryAuditEntry', {
  id: Uuid,
  timestamp: DateTime,
  action: z.enum(AUDIT_ACTIONS),
  boundary: z.string().nullable(),
  repository: z.string().nullable(),
  tag: z.string().nullable(),
  digest: z.string().nullable(),
  actor: z.string(),
  remoteAddress: z.string().nullable(),
  outcome: z.enum(AUDIT_OUTCOMES),
  detail: z.string().nullable(),
  correlationId: z.string().nullable(),
})

/** How many of the newest entries a query considers. */
const ENTRIES_MAX = 10_000

const AuditQuery = z.object({
  action: z.enum(AUDIT_ACTIONS).optional().describe('Only entries of this action'),
  boundary: Uuid.optional().describe('Only entries of this boundary'),
  repository: z.string().min(1).max(255).optional().describe('Only entries of this repository'),
  correlation_id: Uuid.optional().describe('Only entries of this request'),
  from: DateTime.optional().describe('The earliest time'),
  to: DateTime.optional().describe('The latest time'),
})

const auditRoute = listRoute('/resources/registries/audit', {
  auth: action('registry/audit/read'),
  summary: 'Actions at the registry, refused ones included, newest first',
  query: AuditQuery,
  dto: RegistryAuditEntryDto,
  columns: { timestamp: dateTime('Time'), actor: text('Actor', { isSorted: false }) },
  sort: '-timestamp',
  limitName: 'limit',
  pageSizeDefault: 100,
  unfollowed: 'the audit log of the registry',
  rows: async ({ services, query }) => {
    const { correlation_id: correlationId, from, to, ...fields } = query
    const filters = Object.entries({ ...fields, correlationId }).filter(([, value]) => value !== undefined)
    const reading = registryOf(services).audit.newest(
      ENTRIES_MAX,
      (entry) =>
        filters.every(([name, value]) => entry[name as keyof typeof entry] === value) &&
        (to === undefined || Date.parse(entry.timestamp) <= Date.parse(to)),
      from === undefined ? undefined : Date.parse(from),
    )
    const found = await reading.catch((cause: unknown) => {
      throw new PlatformError('SERVICE_UNAVAILABLE', 'The audit of the registry cannot be read.', {}, { cause })
    })
    return found.map((entry) => wholeRecord(RegistryAuditEntryDto, entry))
  },
})

/** The routes of interface section 4.17. */
export const registryRoutes: readonly RouteDraft[] = [
  ...mintRoutes,
  auditRoute,
  ...manifestRoutes,
  ...pinRoutes,
  ...retentionRoutes,
  ...tokenRoutes,
  ...notifyRoutes,
]
