import { sha256 } from '../../core/names.ts'
import { PUBLIC_HOSTS } from '../sources/providers.ts'

export const CATALOGUE_PROVIDERS = ['GitHub', 'GitLab', 'Gitea', 'Bitbucket', 'Git'] as const
export const CATALOGUE_STATES = ['Pending', 'Syncing', 'Ready', 'Failing', 'Disabled'] as const

/** Templates of one source, sources of one boundary, and files that are shown to be none. */
export const SOURCE_TEMPLATES_MAX = 100
export const SOURCES_MAX = 20
export const INVALID_SHOWN = 20
export const TOO_MANY_SOURCES = `A boundary has at most ${SOURCES_MAX} sources of blueprints.`
/** Templates that a boundary keeps itself: each is read with every list. */
export const OWN_TEMPLATES_MAX = 200

/**
 * Name of the object of a template that a source keeps. Beside the boundary's own of that slug, which hides it; a template of
 * people is named like its slug, and no slug has a dot.
 */
export function sourceTemplateName(sourceId: string, slug: string): string {
  return `source.${sha256(`${sourceId}/${slug}`).slice(0, 24)}`
}

type Connected = {
  readonly metadata: { readonly name: string }
  readonly spec: { readonly installationId?: string | undefined }
}

/** Whether a deployment source gives the credentials of a source of blueprints, which names it by its id or its installation. */
export function isBehind({ metadata, spec }: Connected, { installationId }: Connected['spec']): boolean {
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

type Asked = {
  readonly spec: { readonly requests: { readonly syncAt?: string | undefined } }
  readonly status?: { readonly syncedAt?: string | undefined } | undefined
}

/** Whether somebody has asked for it to be read and has not been heard. */
export function isSyncAsked({ spec: { requests }, status }: Asked): boolean {
  return requests.syncAt !== undefined && requests.syncAt !== status?.syncedAt
}

/** The one spelling of a folder that may be written in several, such as `./a/`: `/a`. */
export function folderOf(path: string): string {
  return path.replace(/^(\.?\/)?/, '/').replace(/(.)\/$/, '$1')
}

/** Two sources of one repository, branch and folder, however its address is written. */
export function isSamePlace(one: Place, other: Place): boolean {
  return JSON.stringify(wordsOf(one)) === JSON.stringify(wordsOf(other))
}

function wordsOf({ repositoryUrl = '', installationId = '', repositoryId = '', ref, path }: Place): string[] {
  return [
    repositoryUrl.replace(/(\.git)?\/*$/, '').toLowerCase(),
    installationId.toLowerCase(),
    repositoryId,
    ref,
    folderOf(path),
  ]
}

/** The provider that an address is of; Git for one that is not known. */
export function providerOf(url: string): (typeof CATALOGUE_PROVIDERS)[number] {
  const host = URL.parse(url)?.hostname
  return CATALOGUE_PROVIDERS.find((provider) => URL.parse(PUBLIC_HOSTS[provider] ?? '')?.hostname === host) ?? 'Git'
}
