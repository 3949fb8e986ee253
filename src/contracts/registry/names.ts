import { groupNamespace, sha256 } from '../../core/names.ts'
import type { ResourceScope } from '../../core/scope.ts'

/** The repository of a resource's images: `<boundaryId>/<resourceGroup>/<collection>/<name>`. */
export type RepositoryName = Omit<ResourceScope, 'level'>

export const DIGEST_PATTERN = '^sha256:[0-9a-f]{64}$'
export const REPOSITORY_PATTERN =
  '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?/[a-z]{1,40}/[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?$'

const REPOSITORY = new RegExp(REPOSITORY_PATTERN)

/** Returns undefined for a text that does not consist of these four parts. */
export function parseRepository(text: string): RepositoryName | undefined {
  if (!REPOSITORY.test(text)) return undefined
  const [boundaryId = '', resourceGroup = '', collection = '', name = ''] = text.split('/')
  return { boundaryId, resourceGroup, collection, name }
}

export function formatRepository({ boundaryId, resourceGroup, collection, name }: RepositoryName): string {
  return [boundaryId, resourceGroup, collection, name].join('/')
}

/** Name of the RegistryRepository, and of the pin that REST makes; both are in the boundary's namespace. */
export function repositoryObjectName(repository: string): string {
  return `repository-${sha256(repository).slice(0, 32)}`
}

/** Returns a time for `announcedAt` after the previous one, so that two announcements in one moment remain two. */
export function nextAnnouncement(before: string | undefined, now: number): string {
  return new Date(Math.max(now, before === undefined ? 0 : Date.parse(before) + 1)).toISOString()
}

/** Media types of manifests that are requested from a registry: of one image, and of one for several platforms. */
export const MANIFEST_TYPES = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ')

/** The Secret that nodes pull with, in the namespace of each group. */
export const PULL_SECRET = 'freehold-registry-pull'

/** Returns the Secrets that a pod needs to pull the image. @param registryHost of the platform, if it has one */
export function pullSecretsOf(image: string, registryHost: string | undefined): { name: string }[] {
  return registryHost !== undefined && image.startsWith(`${registryHost}/`) ? [{ name: PULL_SECRET }] : []
}

/**
 * Returns `Always` for an image of the platform's registry that is not of the pod's own group, so that the registry is
 * asked each time whether the pod may have it. A node before Kubernetes 1.35 starts any image that it has, also one that
 * it pulled for another tenant.
 */
export function pullPolicyOf(image: string, registryHost: string | undefined, namespace: string): 'Always' | undefined {
  if (registryHost === undefined || !image.startsWith(`${registryHost}/`)) return undefined
  const found = parseRepository(image.slice(registryHost.length + 1).replace(/[:@].*$/, ''))
  const isOwn = found !== undefined && groupNamespace(found.boundaryId, found.resourceGroup) === namespace
  return isOwn ? undefined : 'Always'
}

/** The header that the registry sends with its notifications, where a secret is configured. */
export const NOTIFY_HEADER = 'x-freehold-registry-secret'

/** Actor in the registry for what the platform does there for others: pulls of nodes, builds, uploads. */
export const PLATFORM_ACTOR = 'freehold'
/** Actor for the platform's own reads and for retention, which is recorded elsewhere. */
export const PLATFORM_READER = 'freehold-itself'
