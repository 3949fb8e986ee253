import { z } from 'zod'
import { RegistryError } from '../../adapters/registry/port.ts'
import { DEFAULT_POLICY, judge } from '../../contracts/registry/retention.ts'
import { notFound, PlatformError } from '../../core/errors.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { RegistryPin } from '../../crds/registry.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { authenticated, type RouteDraft, route } from '../http/route.ts'
import { DateTime } from '../resources/dto.ts'
import { knownRepository, rightsTo } from './rights.ts'
import { registryOf } from './service.ts'

const ManifestDto = z
  .object({
    repository: z.string(),
    tag: z.string(),
    digest: z.string(),
    mediaType: z.string(),
    sizeBytes: z.int().describe('Of the manifest and everything that it names'),
    platforms: z.array(z.string()),
    createdAt: DateTime.nullable(),
    labels: z.record(z.string(), z.string()),
    isPinned: z.boolean(),
    isRunning: z.boolean(),
  })
  .meta({ id: 'ManifestDto' })

const ManifestQuery = z.object({
  repository: z.string().max(255),
  tag: z
    .string()
    .max(128)
    .regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/, 'must be a tag')
    .default('latest'),
})

/** @throws PlatformError UPSTREAM_FAILED */
export async function asking<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof RegistryError) throw new PlatformError('UPSTREAM_FAILED', error.message, {}, { cause: error })
    throw error
  }
}

/** Whoever may not pull is told what is told of a repository that is not there. */
async function readManifest(context: Context<string, z.output<typeof ManifestQuery>>) {
  const { services, caller, query, signal } = context
  const { registry, uses } = registryOf(services)
  const { repository, tag } = query
  const missing = notFound(`The tag "${tag}" of repository "${repository.slice(0, 200)}"`)
  const name = knownRepository(services, repository)
  if (name === undefined || !rightsTo(services, caller.principalId, name).has('pull')) throw missing
  const manifest = await asking(() => registry.manifest(repository, tag, { signal }))
  if (manifest === undefined) throw missing
  const { digest, mediaType, sizeBytes, configuration, references, subject } = manifest
  const details = configuration && (await asking(() => registry.details(repository, configuration, { signal })))
  const pins = services.records.peekAll(RegistryPin, { namespace: boundaryNamespace(name.boundaryId) })
  const at = new Date(0).toISOString()
  const stored = { digest, tags: [tag], sizeBytes, pushedAt: at, references, subject }
  const pinned = pins.map(({ spec }) => spec).filter((spec) => spec.repository === repository)
  const question = { digests: [stored], policy: { ...DEFAULT_POLICY, keepLast: 0 }, now: services.clock.now() }
  const used = (await uses())(repository)
  const isNamed = used.running.digests.has(digest) || used.running.tags.has(tag)
  const nothing = { digests: new Set<string>(), tags: new Set<string>() }
  const [verdict] = judge({ ...question, pins: pinned, uses: { running: nothing, revisions: nothing } })
  return ok({
    repository,
    tag,
    ...{ digest, mediaType, sizeBytes },
    platforms: [
      ...(manifest.platforms.length > 0 ? manifest.platforms : [(details || undefined)?.platform ?? []].flat()),
    ],
    createdAt: (details || undefined)?.createdAt ?? null,
    labels: { ...(details || undefined)?.labels },
    isPinned: verdict?.action === 'Keep' && verdict.reason === 'Pinned',
    isRunning: isNamed,
  })
}

export const manifestRoutes: readonly RouteDraft[] = [
  route(
    'GET',
    '/v1/internal/registries/manifests',
    {
      auth: authenticated,
      summary: 'What a tag of a repository points to',
      query: ManifestQuery,
      reply: ManifestDto,
      answers: [404, 502, 503],
    },
    readManifest,
  ),
]
