import { isSameRepository } from '../sources/repositories.ts'
import type { ReadTemplate } from './validate.ts'

/** As records name where a catalogue comes from. */
export const CATALOGUE_PROVIDERS = ['GitHub', 'GitLab', 'Gitea', 'Bitbucket', 'Git'] as const
export type CatalogueProvider = (typeof CATALOGUE_PROVIDERS)[number]

export const CATALOGUE_STATES = ['Pending', 'Syncing', 'Ready', 'Failing', 'Disabled'] as const
export type CatalogueState = (typeof CATALOGUE_STATES)[number]

/** Templates that a boundary keeps itself: whoever asks for its catalogue has all of them read. */
export const OWN_TEMPLATES_MAX = 200
/** Sources of one boundary, for the same reason, and because each is looked at every hour. */
export const SOURCES_MAX = 10

/** Files with problems that a source tells of, and problems of each. */
export const INVALID_SHOWN = 50
export const PROBLEMS_SHOWN = 5

/** Reads a template with all that is wrong with it, as POST .../templates does. */
export type TemplateReader = (content: string) => ReadTemplate

const HOSTS: Readonly<Record<string, CatalogueProvider>> = {
  'github.com': 'GitHub',
  'gitlab.com': 'GitLab',
  'gitea.com': 'Gitea',
  'codeberg.org': 'Gitea',
  'bitbucket.org': 'Bitbucket',
}

/** Whose repository it is by its address, where that is known. */
export function providerOf(repositoryUrl: string | undefined): CatalogueProvider {
  return HOSTS[URL.parse(repositoryUrl ?? '')?.host.replace(/^www\./, '') ?? ''] ?? 'Git'
}

/** How the template of a source is named: sources may have the same slug, and a slug has no dot. */
export function sourceTemplateName(slug: string, sourceId: string): string {
  return `${slug}.${sourceId}`
}

/** What a source reads. */
export type CataloguePlace = {
  readonly repositoryUrl?: string | undefined
  readonly installationId?: string | undefined
  readonly repositoryId?: string | undefined
  readonly ref: string
  readonly path: string
}

/** Whether two sources read the same: the same repository, ref and folder. */
export function isSamePlace(one: CataloguePlace, other: CataloguePlace): boolean {
  if (one.ref !== other.ref || folderOf(one.path) !== folderOf(other.path)) return false
  if (one.repositoryUrl !== undefined && other.repositoryUrl !== undefined)
    return isSameRepository(one.repositoryUrl, other.repositoryUrl)
  const isInstalled = one.installationId !== undefined && one.installationId === other.installationId
  return isInstalled && one.repositoryId === other.repositoryId
}

/** A folder as it is compared and looked up: its parts with slashes between, without one at either end; the top is ''. */
export function folderOf(path: string): string {
  return path
    .split('/')
    .filter((part) => part !== '')
    .join('/')
}

type Asked = { readonly enabled: boolean; readonly requests?: { readonly syncAt?: string | undefined } | undefined }
type Told = {
  readonly state?: CatalogueState | undefined
  readonly syncedAt?: string | undefined
  readonly syncedGeneration?: number | undefined
}

/**
 * What a source is at, as REST tells it: a request is heard when the status repeats its time, and a change when it names its
 * generation.
 */
export function stateOf({ enabled, requests }: Asked, told: Told = {}, generation?: number): CatalogueState {
  if (!enabled) return 'Disabled'
  if (requests?.syncAt !== undefined && requests.syncAt !== told.syncedAt) return 'Syncing'
  if (told.state === undefined || told.state === 'Disabled') return 'Pending'
  return told.syncedGeneration === generation ? told.state : 'Syncing'
}
