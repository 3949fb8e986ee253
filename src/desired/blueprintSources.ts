import {
  INVALID_SHOWN,
  isSyncAsked,
  SOURCE_TEMPLATES_MAX,
  sourceTemplateName,
} from '../contracts/blueprints/sources.ts'
import type { TemplateProblem } from '../contracts/blueprints/template.ts'
import type { BlueprintSource } from '../crds/blueprintSources.ts'

type File = { readonly path: string; readonly text: string | undefined }
type Read = (content: string) => {
  readonly template: { readonly slug: string } | undefined
  readonly problems: readonly TemplateProblem[]
}
export type KeptTemplate = { readonly name: string; readonly slug: string; readonly content: string }
type Invalid = NonNullable<NonNullable<BlueprintSource['status']>['invalidTemplates']>[number]

const PROBLEMS_SHOWN = 5

/** What a source keeps of the files that were read. One that is no template keeps no other one out. */
export function templatesOf(sourceId: string, files: readonly File[], read: Read) {
  const templates = new Map<string, KeptTemplate>()
  const invalid: Invalid[] = []
  const refuse = (path: string, errors: readonly Omit<TemplateProblem, 'severity'>[]) =>
    void invalid.push({ path: path.slice(0, 512), errors: errors.slice(0, PROBLEMS_SHOWN).map(problemOf) })
  for (const { path, text } of files) {
    if (text === undefined) {
      refuse(path, [whole('SpecInvalid', 'must be a text of at most 256 KiB')])
      continue
    }
    const { template, problems } = read(text)
    const errors = problems.filter(({ severity }) => severity === 'Error')
    const slug = template?.slug
    if (slug === undefined || errors.length > 0) refuse(path, errors)
    else if (templates.has(slug)) refuse(path, [whole('DuplicateName', `has the slug "${slug}" of another file`)])
    else if (templates.size === SOURCE_TEMPLATES_MAX)
      refuse(path, [whole('SpecInvalid', `is beyond the ${SOURCE_TEMPLATES_MAX} templates that a source keeps`)])
    else templates.set(slug, { name: sourceTemplateName(sourceId, slug), slug, content: text })
  }
  return { templates: [...templates.values()], invalidCount: invalid.length, invalid: invalid.slice(0, INVALID_SHOWN) }
}

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
export const readAtOf = ({ spec }: Pick<BlueprintSource, 'spec'>): string => `${spec.ref} ${spec.path}`

type Push = { readonly deliveryId: string; readonly receivedAt: string }

/** Milliseconds from a look that failed to the next one. @param failures in a row */
export function retryIn(failures: number): number {
  return Math.min(SYNC_RETRY_MOST, SYNC_RETRY * 2 ** (failures - 1))
}

/** Failures in a row with the one that has just happened: what somebody has changed or asked for begins anew. */
export function failuresOf({ spec, status = {}, metadata }: Source): number {
  const isNew = isSyncAsked({ spec, status }) || status.syncedGeneration !== metadata.generation
  return isNew ? 1 : (status.failures ?? 0) + 1
}

/** Milliseconds for which templates that are missing may only not have arrived yet. */
const SETTLES = 60_000

/**
 * Milliseconds until a source is to be read; 0 for at once.
 *
 * @param seen what was last told of its branch, and whether all its templates are there
 */
export function syncDueIn(
  { spec, status = {}, metadata }: Source,
  now: number,
  { push, isWhole }: { push: Push | undefined; isWhole: boolean },
): number {
  const { lastSyncAt, triedAt, state, syncedGeneration } = status
  if (triedAt === undefined || state === 'Syncing' || state === 'Disabled') return 0
  const tried = Date.parse(triedAt)
  // Moments have whole seconds, so a push of the same one counts too, and each counts once.
  const isPushed =
    push !== undefined && push.deliveryId !== status.heardDelivery && Date.parse(push.receivedAt) >= tried
  if (isSyncAsked({ spec, status }) || isPushed || syncedGeneration !== metadata.generation)
    return Math.max(0, tried + SYNC_LEAST - now)
  const interval = lastSyncAt !== triedAt ? retryIn(status.failures ?? 1) : isWhole ? SYNC_INTERVAL : SETTLES
  return Math.max(0, tried + interval - now)
}
