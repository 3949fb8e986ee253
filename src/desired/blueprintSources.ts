import {
  INVALID_FILES_SHOWN_MAX,
  isSyncRequested,
  normalizeFolder,
  SOURCE_TEMPLATES_MAX,
  sourceTemplateName,
} from '../contracts/blueprints/sources.ts'
import type { TemplateProblem } from '../contracts/blueprints/template.ts'
import { asSentence } from '../core/errors.ts'
import { cutTo, plainLine } from '../core/plainLine.ts'
import { pluralize, pluralizeVerb } from '../core/pluralize.ts'
import type { BlueprintSource } from '../crds/blueprintSources.ts'

type File = { readonly path: string; readonly text: string | undefined }
type Read = (content: string) => {
  readonly template: { readonly slug: string } | undefined
  readonly draft: { readonly slug: string | undefined } | undefined
  readonly problems: readonly TemplateProblem[]
}
/** A template with the file it was read from. */
export type KeptTemplate = Stored & { readonly name: string; readonly path: string }
type Stored = {
  readonly slug: string
  readonly content: string
  /** Absent on templates read before paths were stored. */
  readonly path?: string | undefined
}
type Problem = Omit<TemplateProblem, 'severity'>
type InvalidFile = { readonly path: string; readonly slug?: string | undefined; readonly errors: readonly Problem[] }
type Invalid = NonNullable<NonNullable<BlueprintSource['status']>['invalidTemplates']>[number]

const PROBLEMS_SHOWN = 5

/**
 * Decides which templates a source keeps. An invalid file does not block the others, and its last valid template stays
 * until the file is fixed or deleted.
 *
 * @param before templates kept from earlier commits of the same ref and folder
 */
export function mergeTemplates(sourceId: string, files: readonly File[], read: Read, before: readonly Stored[] = []) {
  const templates = new Map<string, KeptTemplate>()
  const refused: InvalidFile[] = []
  const keep = (slug: string, path: string, content: string) =>
    void templates.set(slug, { name: sourceTemplateName(sourceId, slug), slug, content, path })
  for (const { path: fullPath, text } of files) {
    const path = shownPath(fullPath)
    const found = parseFile(text, read)
    if (found.errors !== undefined) refused.push({ path, slug: found.slug, errors: found.errors })
    else if (templates.has(found.slug)) refused.push({ path, errors: [duplicate(found.slug)] })
    else if (templates.size === SOURCE_TEMPLATES_MAX) refused.push({ path, errors: [TOO_MANY_TEMPLATES] })
    else keep(found.slug, path, found.content)
  }
  const paths = new Set(files.map(({ path }) => shownPath(path)))
  const invalid = refused.map(({ path, slug, errors }): Invalid => {
    const shown = { path, errors: errors.slice(0, PROBLEMS_SHOWN).map(problemOf) }
    const last = lastValidTemplate({ path, slug }, before, paths)
    if (last === undefined || templates.has(last.slug) || templates.size === SOURCE_TEMPLATES_MAX) return shown
    keep(last.slug, path, last.content)
    return { ...shown, keeps: last.slug }
  })
  // Invalid files that still serve an older template come first, because somebody must fix them.
  const shown = invalid.toSorted((one, other) => Number(other.keeps !== undefined) - Number(one.keeps !== undefined))
  return {
    templates: [...templates.values()],
    invalidCount: invalid.length,
    invalid: shown.slice(0, INVALID_FILES_SHOWN_MAX),
  }
}

/** Finds the last valid template of an invalid file: by path, or by slug if its previous file is gone. */
function lastValidTemplate(
  { path, slug }: Pick<InvalidFile, 'path' | 'slug'>,
  before: readonly Stored[],
  paths: ReadonlySet<string>,
): Stored | undefined {
  const isGone = (one: Stored) => one.path === undefined || !paths.has(one.path)
  return (
    before.find((one) => one.path === path) ??
    before.find((one) => slug !== undefined && one.slug === slug && isGone(one))
  )
}

function parseFile(content: string | undefined, read: Read) {
  if (content === undefined) return { errors: [fileProblem('SpecInvalid', 'must be a text of at most 256 KiB')] }
  const { template, draft, problems } = read(content)
  const errors: Problem[] = problems.filter(({ severity }) => severity === 'Error')
  if (template === undefined || errors.length > 0) return { slug: draft?.slug, errors }
  return { slug: template.slug, content }
}

const PATH_MAX = 512
/** Git allows any file name, so make it safe to show. */
const shownPath = (path: string) => plainLine(path, PATH_MAX)

const duplicate = (slug: string) => fileProblem('DuplicateName', `has the slug "${slug}" of another file`)

const fileProblem = (code: TemplateProblem['code'], message: string) => ({
  code,
  path: '',
  line: null,
  column: null,
  message,
})

function problemOf({
  code,
  path,
  line,
  column,
  message,
}: Omit<TemplateProblem, 'severity'>): Invalid['errors'][number] {
  return {
    ...{ severity: 'Error', code, path: cutTo(path, 256), message: cutTo(message, 256) },
    ...(line !== null && { line }),
    ...(column !== null && { column }),
  }
}

const TOO_MANY_TEMPLATES = fileProblem(
  'SpecInvalid',
  `exceeds the ${SOURCE_TEMPLATES_MAX} templates that a source may have`,
)

/** Returns a sentence about the first outdated template; undefined if all are from the last commit that was read. */
export function describeStaleTemplate(invalid: readonly Invalid[]): string | undefined {
  const stale = invalid.filter(({ keeps }) => keeps !== undefined)
  const [first] = stale
  const [error] = first?.errors ?? []
  if (first === undefined || error === undefined) return undefined
  const line = error.line === undefined ? '' : ` at line ${error.line}`
  const others = stale.length - 1
  const more = others === 0 ? '' : ` So ${pluralizeVerb(others, 'does', 'do')} ${pluralize(others, 'other')}.`
  const detail = [error.path, error.message].filter((text) => text !== '').join(' ')
  const head = asSentence(`"${first.path}" is not valid${line}: ${detail}`)
  return `${head} Blueprint "${first.keeps}" stays as it was.${more}`.slice(0, 1024)
}

/** Milliseconds between two syncs of a repository without a webhook. */
export const SYNC_INTERVAL_MS = 3_600_000
/** Milliseconds of backoff after the first failed sync, doubled on each further failure up to the maximum. */
export const SYNC_BACKOFF_MS = 300_000
export const MAX_SYNC_BACKOFF_MS = 7_200_000
/** Minimum milliseconds between two syncs, whatever triggers them: each costs the Git host and the platform work. */
export const MIN_SYNC_INTERVAL_MS = 5_000

type Source = Pick<BlueprintSource, 'spec' | 'status'> & {
  readonly metadata: { readonly generation?: number | undefined }
}

/** Identifies the ref and folder a source was read at. Results of another ref or folder do not apply. */
export const syncLocationOf = ({ spec }: Pick<BlueprintSource, 'spec'>): string =>
  `${spec.ref} ${normalizeFolder(spec.path)}`

type Push = { readonly deliveryId: string; readonly receivedAt: string }

/** Returns the backoff in milliseconds after a failed sync. @param failures consecutive failures */
export function syncBackoff(failures: number): number {
  return Math.min(MAX_SYNC_BACKOFF_MS, SYNC_BACKOFF_MS * 2 ** (failures - 1))
}

/** Counts consecutive failures including the one that just happened. A change or a requested sync starts over at 1. */
export function failuresOf({ spec, status = {}, metadata }: Source, hasNewCredentials = false): number {
  const isNew =
    hasNewCredentials || isSyncRequested({ spec, status }) || status.syncedGeneration !== metadata.generation
  return isNew ? 1 : (status.failures ?? 0) + 1
}

/** Milliseconds for which a missing template may just not have arrived in the cache yet. */
const CACHE_SETTLE_MS = 60_000

/**
 * Returns the milliseconds until a source must be synced; 0 means at once.
 *
 * @param seen the last push to its branch, whether all its templates exist, and whether its credentials changed since
 *   the last sync
 */
export function syncDueIn(
  { spec, status = {}, metadata }: Source,
  now: number,
  {
    push,
    hasAllTemplates,
    hasNewCredentials = false,
  }: { push: Push | undefined; hasAllTemplates: boolean; hasNewCredentials?: boolean },
): number {
  const { lastSyncAt, triedAt, state, syncedGeneration } = status
  if (triedAt === undefined || state === 'Syncing' || state === 'Disabled') return 0
  const tried = Date.parse(triedAt)
  // Timestamps have whole seconds, so a push in the same second counts too; the delivery id prevents counting it twice.
  const isPushed =
    push !== undefined && push.deliveryId !== status.heardDelivery && Date.parse(push.receivedAt) >= tried
  if (hasNewCredentials || isSyncRequested({ spec, status }) || isPushed || syncedGeneration !== metadata.generation)
    return Math.max(0, tried + MIN_SYNC_INTERVAL_MS - now)
  const interval =
    lastSyncAt !== triedAt ? syncBackoff(status.failures ?? 1) : hasAllTemplates ? SYNC_INTERVAL_MS : CACHE_SETTLE_MS
  return Math.max(0, tried + interval - now)
}
