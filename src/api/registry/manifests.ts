import { z } from 'zod'
import { RegistryError } from '../../adapters/registry/port.ts'
import { pinnedBy } from '../../contracts/registry/retention.ts'
import { notFound, PlatformError } from '../../core/errors.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { RegistryPin } from '../../crds/registry.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { authenticated, type RouteDraft, route } from '../http/route.ts'
import { DateTime } from '../resources/dto.ts'
import { knownRepository, rightsNow } from './rights.ts'
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
async function asking<Result>(work: () => Promise<Result>): Promise<Result> {
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
  const name = await knownRepository(services, caller.principalId, repository)
  if (name === undefined || !(await rightsNow(services, caller.principalId, name, ['pull'])).has('pull')) throw missing
  const manifest = await asking(() => registry.manifest(repository, tag, { signal }))
  if (manifest === undefined) throw missing
  const { digest, mediaType, sizeBytes, platforms, configuration = '' } = manifest
  const details =
    configuration === '' ? undefined : await asking(() => registry.details(repository, configuration, { signal }))
  const pins = services.records.peekAll(RegistryPin, { namespace: boundaryNamespace(name.boundaryId) })
  const now = services.clock.now()
  const active = pins.map(({ spec }) => spec).filter((pin) => Date.parse(pin.expiresAt) > now)
  const own = active.filter((pin) => pin.repository === repository)
  const { running } = (await uses())(repository)
  return ok({
    repository,
    tag,
    ...{ digest, mediaType, sizeBytes },
    platforms: platforms.length > 0 ? [...platforms] : [details?.platform ?? []].flat(),
    createdAt: details?.createdAt ?? null,
    labels: { ...details?.labels },
    isPinned: pinnedBy(own)(digest),
    isRunning: running.digests.has(digest) || running.tags.has(tag),
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
