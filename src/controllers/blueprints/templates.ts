import { setImmediate } from 'node:timers/promises'
import { OWN_TEMPLATES_MAX } from '../../contracts/blueprints/sources.ts'
import type { TemplateProblem } from '../../contracts/blueprints/template.ts'
import { parseTemplateSliced } from '../../contracts/blueprints/validate.ts'
import { asSentence } from '../../core/errors.ts'
import { createLruCache } from '../../core/lruCache.ts'
import { SYSTEM_NAMESPACE, sha256 } from '../../core/names.ts'
import { ageOf } from '../../core/object.ts'
import { done, type Outcome, stalled } from '../../core/outcome.ts'
import { runInSlices } from '../../core/slices.ts'
import { BLUEPRINT_COLLECTIONS } from '../../crds/blueprintCollections.ts'
import { BlueprintTemplate } from '../../crds/blueprints.ts'
import { controller, type Pass, steps } from '../engine/controller.ts'

/** Milliseconds until a template over the limit is checked again: the deletion of an older one does not wake it. */
const LOOK_AGAIN = 300_000

/** REST refuses more templates (422); of those made with kubectl, the oldest count. */
function refuseBeyondLimit({ object, records }: Pass<typeof BlueprintTemplate>): Outcome {
  const { metadata, spec } = object
  const { namespace } = metadata
  if (namespace === SYSTEM_NAMESPACE || spec.sourceId !== undefined) return done()
  const older = records
    .cache(BlueprintTemplate)
    .list({ namespace })
    .filter((other) => other.spec.sourceId === undefined && other.metadata.deletionTimestamp === undefined)
    .filter((other) => ageOf(other) < ageOf(object))
  if (older.length < OWN_TEMPLATES_MAX) return done()
  return stalled('QuotaExceeded', `A boundary keeps at most ${OWN_TEMPLATES_MAX} templates of its own.`, LOOK_AGAIN)
}

type Verdict = {
  readonly slug: string | undefined
  readonly name: string | undefined
  readonly version: string | undefined
  readonly problems: number
  readonly first: TemplateProblem | undefined
}

/** Verdicts by content digest, so that unchanged content is not read again. */
const VERDICTS = createLruCache<string, Verdict>(2_000)

async function verdictOf(content: string, digest: string): Promise<Verdict> {
  const known = VERDICTS.get(digest)
  if (known !== undefined) return known
  // Hundreds of templates may be queued: yield between them.
  await setImmediate()
  const { template, problems } = await runInSlices(parseTemplateSliced(content, BLUEPRINT_COLLECTIONS))
  const { slug, name, version } = template ?? {}
  const first = problems.find(({ severity }) => severity === 'Error')
  // Substrings keep the whole text in memory; copies do not.
  const verdict = structuredClone({ slug, name, version, problems: problems.length, first })
  VERDICTS.set(digest, verdict)
  return verdict
}

/** Reports whether each template is valid, so that kubectl users see what is wrong. */
export const templateController = controller(BlueprintTemplate, {
  observes: [],
  writes: [],
  reconcile: steps(
    refuseBeyondLimit,
    async function judgeTemplate(pass: Pass<typeof BlueprintTemplate>): Promise<Outcome> {
      const { slug, content } = pass.object.spec
      const digest = sha256(content)
      const { first, problems, ...head } = await verdictOf(content, digest)
      const isNamed = head.slug === undefined || head.slug === slug
      const { status } = pass.object
      const updatedAt = status?.digest === digest ? status.updatedAt : pass.now
      pass.report({ name: head.name, version: head.version, problems, digest, updatedAt })
      if (!isNamed)
        return stalled('ConfigurationInvalid', `Its content has the slug "${head.slug}", but its spec has "${slug}".`)
      if (first === undefined) return done()
      const position = first.line === null ? first.path : `line ${first.line}`
      return stalled('ConfigurationInvalid', asSentence(`${position}: ${first.message}`).slice(0, 1024))
    },
  ),
})
