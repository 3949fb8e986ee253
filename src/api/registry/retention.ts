import { z } from 'zod'
import {
  DEFAULT_RETENTION_POLICY,
  decideRetention,
  KEEP_REASONS,
  REMOVE_REASONS,
} from '../../contracts/registry/retention.ts'
import { timestamp } from '../../core/clock.ts'
import { PlatformError } from '../../core/errors.ts'
import { objectId } from '../../core/ids.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { createdAtOf } from '../../core/object.ts'
import { mapSliced, runInSlices } from '../../core/slices.ts'
import { compareTexts } from '../../core/textOrder.ts'
import { isRunOver, RegistryPin, RegistryRepository, RetentionRun, RUN_STATES } from '../../crds/registry.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import type { RecordOf } from '../records/records.ts'
import { collection } from '../resources/collection/collection.ts'
import { atPlatform } from '../resources/collection/parents.ts'
import { DateTime, Uuid, wholeRecord } from '../resources/dto.ts'
import { dateTime, enumeration } from '../resources/paging.ts'
import { registryOf } from './service.ts'

const RetentionPolicyDto = namedRecord('RetentionPolicyDto', {
  keepLast: z.int(),
  keepForDays: z.int(),
  deleteUntaggedAfterDays: z.int(),
  keepRunning: z.boolean(),
  keepPinned: z.boolean(),
  keepRevisions: z.boolean(),
})

const RetentionItemDto = namedRecord('RetentionItemDto', {
  digest: z.string(),
  tags: z.array(z.string()),
  sizeBytes: z.int(),
  pushedAt: DateTime,
  lastPulledAt: DateTime.nullable(),
  action: z.enum(['Keep', 'Remove']),
  reason: z.enum([...KEEP_REASONS, ...REMOVE_REASONS]),
})

const retentionTotals = { keep: z.int(), remove: z.int(), freedBytes: z.int() }
const RetentionRepositoryDto = namedRecord('RetentionRepositoryDto', {
  repository: z.string(),
  boundary: Uuid,
  ...retentionTotals,
  items: z.array(RetentionItemDto),
})
const RetentionPreviewDto = namedRecord('RetentionPreviewDto', {
  policy: RetentionPolicyDto,
  repositories: z.array(RetentionRepositoryDto),
  totals: z.object({ repositories: z.int(), ...retentionTotals }),
  computedAt: DateTime,
})

const PreviewQuery = z.object({
  boundary: Uuid.optional().describe('Only images of this boundary'),
  repository: z.string().min(1).max(255).optional().describe('Only this repository'),
})

async function preview(context: Context<string, z.output<typeof PreviewQuery>>) {
  const { services, query } = context
  const uses = await registryOf(services).uses()
  const now = services.clock.now()
  const namespace = query.boundary === undefined ? {} : { namespace: boundaryNamespace(query.boundary) }
  const found = services.records
    .peekAll(RegistryRepository, namespace)
    .filter(({ spec }) => query.repository === undefined || spec.repository === query.repository)
  const pins = Map.groupBy(services.records.peekAll(RegistryPin, namespace), ({ spec }) => spec.repository)
  const previewOf = ({ spec: { repository }, status }: (typeof found)[number]) => {
    const repositoryPins = (pins.get(repository) ?? []).map(({ spec }) => spec)
    const retentionInput = {
      digests: status?.digests ?? [],
      pins: repositoryPins,
      uses: uses(repository),
      policy: DEFAULT_RETENTION_POLICY,
      now,
    }
    const items = decideRetention(retentionInput).map(({ stored, ...decision }) =>
      wholeRecord(RetentionItemDto, { ...stored, tags: [...stored.tags], ...decision }),
    )
    const removed = items.filter((item) => item.action === 'Remove')
    const freedBytes = removed.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
    const boundary = repository.split('/')[0] ?? ''
    return { repository, boundary, keep: items.length - removed.length, remove: removed.length, freedBytes, items }
  }
  // A platform has thousands of repositories, so yield to other work.
  const repositories = await runInSlices(mapSliced(found, previewOf))
  const total = (field: keyof typeof retentionTotals) => repositories.reduce((all, one) => all + one[field], 0)
  const sum = { keep: total('keep'), remove: total('remove'), freedBytes: total('freedBytes') }
  const totals = { repositories: repositories.length, ...sum }
  const policy = { ...DEFAULT_RETENTION_POLICY, keepRunning: true, keepPinned: true, keepRevisions: true }
  repositories.sort((one, other) => compareTexts(one.repository, other.repository))
  return ok({ policy, repositories, totals, computedAt: timestamp(now) })
}

const RetentionRunDto = namedRecord('RetentionRunDto', {
  id: Uuid,
  dryRun: z.boolean(),
  trigger: z.enum(['Manual', 'Scheduled']),
  status: z.enum(RUN_STATES),
  startedBy: z.string().nullable(),
  startedAt: DateTime.describe('For a waiting run, when it became able to start'),
  finishedAt: DateTime.nullable(),
  removedManifests: z.int(),
  failedManifests: z.int(),
  freedBytes: z.int(),
  error: z.string().nullable(),
})

type RunObject = RecordOf<typeof RetentionRun>

/** The next scheduled run is created in advance and does not count before it is due. */
function isDue({ spec }: RunObject, now: number): boolean {
  return spec.notBefore === undefined || Date.parse(spec.notBefore) <= now
}

const PostRunRequest = strictRecord('PostRunRequest', { dryRun: z.boolean().nullish() })

/** @throws PlatformError RETENTION_RUNNING with `runId` */
async function startRun({ services, caller, body }: Context<string, unknown, z.output<typeof PostRunRequest>>) {
  const { namespace } = atPlatform()
  const runs = await services.records.list(RetentionRun, { namespace }, { fresh: true })
  const unfinished = runs.find((run) => !isRunOver(run.status?.state) && isDue(run, services.clock.now()))
  if (unfinished === undefined)
    return { dryRun: body?.dryRun ?? false, trigger: 'Manual', startedBy: caller.principalId }
  const runId = objectId(RetentionRun.resource, unfinished.metadata)
  throw new PlatformError('RETENTION_RUNNING', 'A retention run is under way: wait until it has ended.', { runId })
}

const runs = collection(RetentionRun, {
  path: '/v1/registries/retention/runs',
  item: 'runId',
  noun: 'Retention run',
  parent({ services }) {
    registryOf(services)
    return atPlatform()
  },
  includes: (run, _parent, { services }) => run.status?.startedAt !== undefined || isDue(run, services.clock.now()),
  may: { read: action('registry/audit/read'), write: action('registry/retention/manage') },
  dto: RetentionRunDto,
  toDto: ({ metadata, spec, status }) => ({
    status: status?.state ?? 'Queued',
    startedAt: status?.startedAt ?? spec.notBefore ?? createdAtOf(metadata),
    removedManifests: status?.removedManifests ?? 0,
    failedManifests: status?.failedManifests ?? 0,
    freedBytes: status?.freedBytes ?? 0,
  }),
  columns: {
    startedAt: dateTime('Started'),
    status: enumeration('Status', RUN_STATES),
    trigger: enumeration('Trigger', ['Manual', 'Scheduled'], { isSorted: false }),
  },
  sort: '-startedAt',
  limitName: 'limit',
  list: { summary: 'Retention runs that started or are due, newest first' },
  create: {
    summary: 'Remove the images that retention does not keep',
    body: PostRunRequest,
    isBodyOptional: true,
    status: 202,
    lock: () => ({ key: 'retention runs', sees: [] }),
    toSpec: startRun,
  },
})

export const retentionRoutes: readonly RouteDraft[] = [
  route('GET', '/v1/registries/retention/preview', {
    auth: action('registry/audit/read'),
    summary: 'What a run would keep and remove now, and why',
    query: PreviewQuery,
    reply: RetentionPreviewDto,
    handler: preview,
  }),
  ...runs.routes(),
]
