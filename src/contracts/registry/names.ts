import { sha256 } from '../../core/names.ts'
import type { ResourceScope } from '../../core/scope.ts'

/** Where images of a resource are kept: `<boundaryId>/<resourceGroup>/<collection>/<name>`. */
export type RepositoryName = Omit<ResourceScope, 'level'>

export const DIGEST_PATTERN = '^sha256:[0-9a-f]{64}$'
export const REPOSITORY_PATTERN =
  '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?/[a-z]{1,40}/[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?$'

const REPOSITORY = new RegExp(REPOSITORY_PATTERN)

/** Undefined for a name that has more or fewer parts, or others. */
export function parseRepository(text: string): RepositoryName | undefined {
  if (!REPOSITORY.test(text)) return undefined
  const [boundaryId = '', resourceGroup = '', collection = '', name = ''] = text.split('/')
  return { boundaryId, resourceGroup, collection, name }
}

export function repositoryText({ boundaryId, resourceGroup, collection, name }: RepositoryName): string {
  return [boundaryId, resourceGroup, collection, name].join('/')
}

/** The name of the RegistryRepository, and of the pin that REST makes: both stand in the boundary's namespace. */
export function repositoryObjectName(repository: string): string {
  return `repository-${sha256(repository).slice(0, 32)}`
}

/** A time for `announcedAt` that differs from the one before: two announcements within one moment are two. */
export function nextAnnouncement(before: string | undefined, now: number): string {
  return new Date(Math.max(now, before === undefined ? 0 : Date.parse(before) + 1)).toISOString()
}

/** Manifests that are asked for at a registry: of one image, and of one for several platforms. */
export const MANIFEST_TYPES = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ')

/** The Secret that nodes pull with, in the namespace of each group. */
export const PULL_SECRET = 'freehold-registry-pull'

/** The Secrets of its namespace that a pod needs to pull the image. @param registryHost of the platform; undefined without one */
export function pullSecretsOf(image: string, registryHost: string | undefined): { name: string }[] {
  return registryHost !== undefined && image.startsWith(`${registryHost}/`) ? [{ name: PULL_SECRET }] : []
}

/** The header that the registry sends with its notifications, where a secret is configured. */
export const NOTIFY_HEADER = 'x-freehold-registry-secret'

/** Whom the registry names in what the platform does there for others: nodes that pull, builds, uploads. */
export const PLATFORM_ACTOR = 'freehold'
/** The same where the platform itself looks, and where retention removes: that is told elsewhere. */
export const PLATFORM_READER = 'freehold-itself'
