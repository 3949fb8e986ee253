import {
  folderOf,
  INVALID_SHOWN,
  isSyncAsked,
  SOURCE_TEMPLATES_MAX,
  sourceTemplateName,
} from '../contracts/blueprints/sources.ts'
import type { TemplateProblem } from '../contracts/blueprints/template.ts'
import { agreed, counted } from '../core/counted.ts'
import { sentence } from '../core/errors.ts'
import { plainLine } from '../core/plainLine.ts'
import type { BlueprintSource } from '../crds/blueprintSources.ts'

type File = { readonly path: string; readonly text: string | undefined }
type Read = (content: string) => {
  readonly template: { readonly slug: string } | undefined
  readonly draft: { readonly slug: string | undefined } | undefined
  readonly problems: readonly TemplateProblem[]
}
/** A template and the file that it is of. */
export type KeptTemplate = Stored & { readonly name: string; readonly path: string }
type Stored = {
  readonly slug: string
  readonly content: string
  /** Absent of what was read before paths were kept. */
  readonly path?: string | undefined
}
type Problem = Omit<TemplateProblem, 'severity'>
type Refused = { readonly path: string; readonly slug?: string | undefined; readonly errors: readonly Problem[] }
type Invalid = NonNullable<NonNullable<BlueprintSource['status']>['invalidTemplates']>[number]

const PROBLEMS_SHOWN = 5

/**
 * What a source keeps of the files that were read. One that is no template keeps no other one out, and the template that it was
 * before stays until it is mended or deleted.
 *
 * @param before what the source keeps of the same place, by earlier commits
 */
export function templatesOf(sourceId: string, files: readonly File[], read: Read, before: readonly Stored[] = []) {
  const templates = new Map<string, KeptTemplate>()
  const refused: Refused[] = []
  const keep = (slug: string, path: string, content: string) =>
    void templates.set(slug, { name: sourceTemplateName(sourceId, slug), slug, content, path })
  for (const { path: whole, text } of files) {
    const path = shownPath(whole)
    const found = judged(text, read)
    if (found.errors !== undefined) refused.push({ path, slug: found.slug, errors: found.errors })
    else if (templates.has(found.slug)) refused.push({ path, errors: [duplicate(found.slug)] })
    else if (templates.size === SOURCE_TEMPLATES_MAX) refused.push({ path, errors: [SURPLUS] })
    else keep(found.slug, path, found.content)
  }
  const paths = new Set(files.map(({ path }) => shownPath(path)))
  const invalid = refused.map(({ path, slug, errors }): Invalid => {
    const shown = { path, errors: errors.slice(0, PROBLEMS_SHOWN).map(problemOf) }
    const last = lastOf({ path, slug }, before, paths)
    if (last === undefined || templates.has(last.slug) || templates.size === SOURCE_TEMPLATES_MAX) return shown
    keep(last.slug, path, last.content)
    return { ...shown, keeps: last.slug }
  })
  // Those whose template is an older one come first: they are what somebody has to mend.
  const shown = invalid.toSorted((one, other) => Number(other.keeps !== undefined) - Number(one.keeps !== undefined))
  return { templates: [...templates.values()], invalidCount: invalid.length, invalid: shown.slice(0, INVALID_SHOWN) }
}

/** The template that an invalid file was: by its path, or by its slug if the file that it was is gone. */
function lastOf(
  { path, slug }: Pick<Refused, 'path' | 'slug'>,
  before: readonly Stored[],
  paths: ReadonlySet<string>,
): Stored | undefined {
  const isGone = (one: Stored) => one.path === undefined || !paths.has(one.path)
  return (
    before.find((one) => one.path === path) ??
    before.find((one) => slug !== undefined && one.slug === slug && isGone(one))
  )
}

function judged(content: string | undefined, read: Read) {
  if (content === undefined) return { errors: [whole('SpecInvalid', 'must be a text of at most 256 KiB')] }
  const { template, draft, problems } = read(content)
  const errors: Problem[] = problems.filter(({ severity }) => severity === 'Error')
  if (template === undefined || errors.length > 0) return { slug: draft?.slug, errors }
  return { slug: template.slug, content }
}

const PATH_MAX = 512
/** People name files, and any name is one to Git. */
const shownPath = (path: string) => plainLine(path, PATH_MAX)

const duplicate = (slug: string) => whole('DuplicateName', `has the slug "${slug}" of another file`)

const whole = (code: TemplateProblem['code'], message: string) => ({
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
    ...{ severity: 'Error', code, path: path.slice(0, 256), message: message.slice(0, 256) },
    ...(line !== null && { line }),
    ...(column !== null && { column }),
  }
}

const SURPLUS = whole('SpecInvalid', `exceeds the ${SOURCE_TEMPLATES_MAX} templates that a source may have`)

/** What somebody has to mend, in one sentence; undefined if all templates are those of the commit that was read last. */
export function staleWords(invalid: readonly Invalid[]): string | undefined {
  const stale = invalid.filter(({ keeps }) => keeps !== undefined)
  const [first] = stale
  const [error] = first?.errors ?? []
  if (first === undefined || error === undefined) return undefined
  const line = error.line === undefined ? '' : ` at line ${error.line}`
  const others = stale.length - 1
  const more = others === 0 ? '' : ` So ${agreed(others, 'does', 'do')} ${counted(others, 'other')}.`
  const why = [error.path, error.message].filter((words) => words !== '').join(' ')
  const head = sentence(`"${first.path}" is not valid${line}: ${why}`)
  return `${head} Blueprint "${first.keeps}" stays as it was.${more}`.slice(0, 1024)
}

/** Milliseconds between two looks at a repository that nobody tells of. */
export const SYNC_INTERVAL = 3_600_000
/** After the first look that failed; each further one waits twice as long, up to the most. */
export const SYNC_RETRY = 300_000
export const SYNC_RETRY_MOST = 7_200_000
/** Between two looks however often somebody asks: each costs the host and the platform something. */
export const SYNC_LEAST = 5_000

type Source = Pick<BlueprintSource, 'spec' | 'status'> & {
  readonly metadata: { readonly generation?: number | undefined }
}

/** The ref and the folder that a source is read at: what was read at other ones says nothing. */
export const readAtOf = ({ spec }: Pick<BlueprintSource, 'spec'>): string => `${spec.ref} ${folderOf(spec.path)}`

type Push = { readonly deliveryId: string; readonly receivedAt: string }

/** Milliseconds from a look that failed to the next one. @param failures in a row */
export function retryIn(failures: number): number {
  return Math.min(SYNC_RETRY_MOST, SYNC_RETRY * 2 ** (failures - 1))
}

/** Failures in a row with the one that has just happened: what somebody has changed or asked for begins anew. */
export function failuresOf({ spec, status = {}, metadata }: Source, hasNewCredentials = false): number {
  const isNew = hasNewCredentials || isSyncAsked({ spec, status }) || status.syncedGeneration !== metadata.generation
  return isNew ? 1 : (status.failures ?? 0) + 1
}

/** Milliseconds for which templates that are missing may only not have arrived yet. */
const SETTLES = 60_000

/**
 * Milliseconds until a source is to be read; 0 for at once.
 *
 * @param seen what was last told of its branch, whether all its templates are there, and whether its credentials are other ones
 *   than it was last read with
 */
export function syncDueIn(
  { spec, status = {}, metadata }: Source,
  now: number,
  {
    push,
    isWhole,
    hasNewCredentials = false,
  }: { push: Push | undefined; isWhole: boolean; hasNewCredentials?: boolean },
): number {
  const { lastSyncAt, triedAt, state, syncedGeneration } = status
  if (triedAt === undefined || state === 'Syncing' || state === 'Disabled') return 0
  const tried = Date.parse(triedAt)
  // Moments have whole seconds, so a push of the same one counts too, and each counts once.
  const isPushed =
    push !== undefined && push.deliveryId !== status.heardDelivery && Date.parse(push.receivedAt) >= tried
  if (hasNewCredentials || isSyncAsked({ spec, status }) || isPushed || syncedGeneration !== metadata.generation)
    return Math.max(0, tried + SYNC_LEAST - now)
  const interval = lastSyncAt !== triedAt ? retryIn(status.failures ?? 1) : isWhole ? SYNC_INTERVAL : SETTLES
  return Math.max(0, tried + interval - now)
}
