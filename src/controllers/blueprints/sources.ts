import { setImmediate } from 'node:timers/promises'
import type { GitFiles } from '../../adapters/gitfiles/port.ts'
import { SourceError } from '../../adapters/sources/port.ts'
import { folderOf, isSamePlace, SOURCES_MAX, type TemplateReader } from '../../contracts/blueprints/catalogue.ts'
import { ageOf, type KubeObject, keyOf } from '../../core/object.ts'
import { degraded, done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { BlueprintSource } from '../../crds/blueprintSources.ts'
import { BlueprintTemplate } from '../../crds/blueprints.ts'
import { DeploymentSource } from '../../crds/sources.ts'
import { judgeFiles, nextReading, pushOf, shownInvalid } from '../../desired/catalogue.ts'
import { controllerWith, type Pass, steps, type Workspace } from '../engine/controller.ts'
import { withSecretRights } from '../workload/secrets.ts'
import { keepAsRead } from './kept.ts'
import { type RepositoryOptions, repositoryOf } from './repository.ts'

export type CatalogueOptions = RepositoryOptions & {
  files: GitFiles
  /** As POST .../templates reads one. */
  read: TemplateReader
}

type SourcePass = Pass<typeof BlueprintSource>
type CachedSource = BlueprintSource & { [key: string]: unknown }
type CachedDeploymentSource = DeploymentSource & { [key: string]: unknown }

/** For what nothing tells of: an older source that went, a credential that came. */
const LOOK_AGAIN = 300_000

/** Keeps the templates of each source as its repository has them. */
export const blueprintSourceController = controllerWith(
  BlueprintSource,
  {
    observes: [
      BlueprintTemplate.resource,
      {
        resource: DeploymentSource.resource,
        in: 'records',
        keysOf: sourcesBeside,
        relevant: ({ spec, status }) => [spec, (status as DeploymentSource['status'])?.heads],
      },
    ],
    writes: [{ resource: BlueprintTemplate.resource, verbs: ['create', 'patch', 'delete'] }],
  },
  (options: CatalogueOptions) => ({
    reconcile: steps(refuseAnotherSame, refuseBeyondLimit, function keepTemplates(pass: SourcePass) {
      return keep(pass, options)
    }),
  }),
)

function sourcesBeside({ metadata }: KubeObject, records: Workspace): string[] {
  const sources = records.cache<CachedSource>(BlueprintSource.resource).list()
  return sources.filter((source) => source.metadata.namespace === metadata.namespace).map(keyOf)
}

/** Those of the same boundary that are there longer. */
function olderThan({ object, records }: SourcePass): CachedSource[] {
  const { namespace } = object.metadata
  return records
    .cache<CachedSource>(BlueprintSource.resource)
    .list()
    .filter(({ metadata }) => metadata.namespace === namespace && metadata.deletionTimestamp === undefined)
    .filter((other) => ageOf(other) < ageOf(object))
}

/** REST refuses it (409); of what kubectl makes, the older one is read. */
function refuseAnotherSame(pass: SourcePass): Outcome {
  const same = olderThan(pass).find(({ spec }) => isSamePlace(spec, pass.object.spec))
  if (same === undefined) return done()
  const message = `Source "${same.metadata.name}" reads the same folder of the same repository at the same ref.`
  return stalled('NameOccupied', message, LOOK_AGAIN)
}

function refuseBeyondLimit(pass: SourcePass): Outcome {
  if (olderThan(pass).length < SOURCES_MAX) return done()
  return stalled('QuotaExceeded', `A boundary has at most ${SOURCES_MAX} sources of blueprints.`, LOOK_AGAIN)
}

async function keep(pass: SourcePass, options: CatalogueOptions): Promise<Outcome> {
  const { object, records, clock } = pass
  const { spec, status = {}, metadata } = object
  pass.serving((status.templateCount ?? 0) > 0)
  const heard = { syncedAt: spec.requests.syncAt, syncedGeneration: metadata.generation }
  if (!spec.enabled) {
    pass.report({ ...heard, state: 'Disabled', message: undefined, failures: undefined })
    return done({ message: 'It is switched off: its templates stay as they were, and are not deployed.' })
  }
  const deploymentSources = records
    .cache<CachedDeploymentSource>(DeploymentSource.resource)
    .list()
    .filter((source) => source.metadata.namespace === metadata.namespace)
  const push = pushOf(object, deploymentSources)
  const { after, isAsked } = nextReading(object, push, clock.now())
  if (after > 0) return isAsked ? waiting('Accepted', 'It is read in a moment.', after) : asBefore(status, after)
  const common = { ...heard, pushedDelivery: push?.deliveryId, attemptedAt: pass.now }
  return withSecretRights(async () => {
    try {
      const { place, about } = await repositoryOf(pass, deploymentSources, options)
      const found = await options.files.read({ ...place, ref: spec.ref, folder: folderOf(spec.path) })
      const judged = await judgeFiles(found.files, found.unread, options.read, () => setImmediate())
      const templateCount = await keepAsRead(pass, judged)
      const told = {
        templateCount,
        invalidTemplates: shownInvalid(judged.invalid),
        invalidCount: judged.invalid.length,
      }
      const whole = { ...common, ...about, ...told, state: 'Ready' as const, revision: found.revision }
      pass.report({ ...whole, lastSyncAt: pass.now, message: undefined, failures: undefined })
      pass.serving(templateCount > 0)
      return asBefore(whole, nextReading({ spec, metadata, status: whole }, push, clock.now()).after)
    } catch (error) {
      if (!(error instanceof SourceError)) throw error
      const failed = {
        ...common,
        state: 'Failing' as const,
        message: error.message,
        failures: (status.failures ?? 0) + 1,
      }
      pass.report(failed)
      return asBefore(failed, nextReading({ spec, metadata, status: failed }, push, clock.now()).after)
    }
  })
}

/** What the last look came to. */
function asBefore({ state, message = '' }: NonNullable<BlueprintSource['status']>, after: number): Outcome {
  return state === 'Failing' ? degraded('PartiallyAvailable', message, after) : done({ after })
}
