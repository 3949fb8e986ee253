import { sha256 } from '../../core/names.ts'
import { PUBLIC_HOSTS } from '../sources/providers.ts'

export const CATALOGUE_PROVIDERS = ['GitHub', 'GitLab', 'Gitea', 'Bitbucket', 'Git'] as const
export const CATALOGUE_STATES = ['Pending', 'Syncing', 'Ready', 'Failing', 'Disabled'] as const

/** Maximum templates per source, sources per boundary, and invalid files that are shown. */
export const SOURCE_TEMPLATES_MAX = 100
export const SOURCES_MAX = 20
export const INVALID_FILES_SHOWN_MAX = 20
export const TOO_MANY_SOURCES = `A boundary has at most ${SOURCES_MAX} sources of blueprints.`
/** Maximum templates that a boundary keeps itself: each list reads all of them. */
export const OWN_TEMPLATES_MAX = 200

/**
 * Returns the object name of a template from a source. The boundary's own template of that slug, which hides it, is
 * named like the slug; no slug has a dot, so the names never collide.
 */
export function sourceTemplateName(sourceId: string, slug: string): string {
  return `source.${sha256(`${sourceId}/${slug}`).slice(0, 24)}`
}

type CredentialSource = {
  readonly metadata: { readonly name: string }
  readonly spec: { readonly installationId?: string | undefined }
}

/** Whether a blueprint source, which names a deployment source by id or installation, uses its credentials. */
export function isCredentialSourceOf(
  { metadata, spec }: CredentialSource,
  { installationId }: CredentialSource['spec'],
): boolean {
  if (installationId === undefined) return false
  return metadata.name === installationId.toLowerCase() || spec.installationId === installationId
}

type Place = {
  readonly repositoryUrl?: string | undefined
  readonly installationId?: string | undefined
  readonly repositoryId?: string | undefined
  readonly ref: string
  readonly path: string
}

type SyncRequest = {
  readonly spec: { readonly requests: { readonly syncAt?: string | undefined } }
  readonly status?: { readonly syncedAt?: string | undefined } | undefined
}

/** Whether a requested sync has not been carried out. */
export function isSyncRequested({ spec: { requests }, status }: SyncRequest): boolean {
  return requests.syncAt !== undefined && requests.syncAt !== status?.syncedAt
}

/** Normalizes a folder that may be written in several ways, such as `./a/`: `/a`. */
export function normalizeFolder(path: string): string {
  return path.replace(/^(\.?\/)?/, '/').replace(/(.)\/$/, '$1')
}

/** Whether two sources read the same repository, branch and folder, however the address is written. */
export function isSameTemplateFolder(one: Place, other: Place): boolean {
  return JSON.stringify(identityPartsOf(one)) === JSON.stringify(identityPartsOf(other))
}

function identityPartsOf({ repositoryUrl = '', installationId = '', repositoryId = '', ref, path }: Place): string[] {
  return [
    repositoryUrl.replace(/(\.git)?\/*$/, '').toLowerCase(),
    installationId.toLowerCase(),
    repositoryId,
    ref,
    normalizeFolder(path),
  ]
}

/** Returns the provider of an address; Git if the host is not known. */
export function providerOf(url: string): (typeof CATALOGUE_PROVIDERS)[number] {
  const host = URL.parse(url)?.hostname
  return CATALOGUE_PROVIDERS.find((provider) => URL.parse(PUBLIC_HOSTS[provider] ?? '')?.hostname === host) ?? 'Git'
}
