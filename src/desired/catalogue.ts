import { INVALID_SHOWN, PROBLEMS_SHOWN, type TemplateReader } from '../contracts/blueprints/catalogue.ts'
import type { RepositoryFile, UnreadFile } from '../contracts/blueprints/repository.ts'
import type { TemplateProblem } from '../contracts/blueprints/template.ts'
import { isOfRepository } from '../contracts/sources/repositories.ts'
import type { BlueprintSource } from '../crds/blueprintSources.ts'
import type { DeploymentSource } from '../crds/sources.ts'

const HOUR = 3_600_000
const FIRST_RETRY = 60_000

type Source = Pick<BlueprintSource, 'spec' | 'status'> & { readonly metadata: { readonly generation?: number } }

/** Whatever is asked: a repository is not read more often than that, however often somebody asks. */
const LEAST = 5_000

/** Milliseconds until a source is read again, and whether somebody waits for it. */
export type NextReading = { readonly after: number; readonly isAsked: boolean }

/**
 * At once for another spec or a request (both are another generation) and for a push that was not heard, an hour after the last
 * look, and after one that failed, from a minute on, twice as long each time.
 */
export function nextReading({ metadata, status = {} }: Source, push: Push | undefined, now: number): NextReading {
  const { attemptedAt, failures = 0, state } = status
  const isNews = push !== undefined && push.deliveryId !== status.pushedDelivery && push.commit !== status.revision
  const isAsked = state === 'Disabled' || status.syncedGeneration !== metadata.generation || isNews
  if (attemptedAt === undefined) return { after: 0, isAsked }
  const pause = failures === 0 ? HOUR : Math.min(HOUR, FIRST_RETRY * 2 ** (failures - 1))
  return { after: Math.max(0, Date.parse(attemptedAt) + (isAsked ? LEAST : pause) - now), isAsked }
}

export type Push = { readonly deliveryId: string; readonly commit: string }

/** Where the ref of a source stands, as the newest delivery of any deployment source of its boundary says. */
export function pushOf({ spec, status }: Source, deploymentSources: readonly DeploymentSource[]): Push | undefined {
  const { ref, repositoryId, installationId } = spec
  const url = spec.repositoryUrl ?? status?.repositoryUrl
  const names = [`refs/heads/${ref}`, `refs/tags/${ref}`]
  const heads = deploymentSources.flatMap((source) =>
    (source.status?.heads ?? []).filter(
      (head) =>
        head.kind !== 'PullRequest' &&
        names.includes(head.ref) &&
        (installationId !== undefined && isInstallation(source, installationId)
          ? source.spec.provider === 'Git' || head.repositoryId === repositoryId
          : url !== undefined && isOfRepository(source.spec, head, url)),
    ),
  )
  return heads.toSorted((one, other) => (one.receivedAt < other.receivedAt ? 1 : -1))[0]
}

/** Whether a deployment source is meant: by the provider's own id, or by its id where the provider has no installations. */
export function isInstallation(source: DeploymentSource, installationId: string): boolean {
  return installationId === (source.spec.provider === 'GitHub' ? source.spec.installationId : source.metadata.name)
}

export type JudgedTemplate = { readonly slug: string; readonly path: string; readonly content: string }
export type InvalidTemplate = NonNullable<NonNullable<BlueprintSource['status']>['invalidTemplates']>[number]
export type JudgedFiles = { readonly templates: JudgedTemplate[]; readonly invalid: InvalidTemplate[] }

/**
 * What of the files becomes templates. One that is not valid keeps no other one back; of two with one slug the first
 * by path counts.
 */
export async function judgeFiles(
  files: readonly RepositoryFile[],
  unread: readonly UnreadFile[],
  read: TemplateReader,
  pause: () => Promise<unknown>,
): Promise<JudgedFiles> {
  const templates = new Map<string, JudgedTemplate>()
  const invalid: InvalidTemplate[] = unread.map(({ path, why }) => ({ path, errors: [ofFile('Syntax', `${why}.`)] }))
  for (const { path, content } of files) {
    // Reading one may take some milliseconds, and others wait meanwhile.
    await pause()
    const { template, problems } = read(content)
    const isValid = template !== undefined && !problems.some(({ severity }) => severity === 'Error')
    const other = template && templates.get(template.slug)
    if (template === undefined || !isValid) invalid.push({ path, errors: problems.slice(0, PROBLEMS_SHOWN).map(shown) })
    else if (other !== undefined)
      invalid.push({
        path,
        errors: [ofFile('DuplicateName', `stands aside: ${other.path} has the slug "${template.slug}" too.`)],
      })
    else templates.set(template.slug, { slug: template.slug, path, content })
  }
  return { templates: [...templates.values()], invalid: invalid.sort((one, other) => (one.path < other.path ? -1 : 1)) }
}

export const shownInvalid = (invalid: readonly InvalidTemplate[]) =>
  invalid.slice(0, INVALID_SHOWN).map(({ path, errors }) => ({ path: path.slice(0, 1024), errors }))

function shown({ severity, code, path, line, column, message }: TemplateProblem): InvalidTemplate['errors'][number] {
  return {
    ...{ severity, code, path: path.slice(0, 512), message: message.slice(0, 512) },
    ...(line !== null && { line }),
    ...(column !== null && { column }),
  }
}

function ofFile(code: TemplateProblem['code'], message: string) {
  return { severity: 'Error' as const, code, path: '', message: `The file ${message}`.slice(0, 512) }
}
