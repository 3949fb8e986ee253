import { OWN_TEMPLATES_MAX } from '../../contracts/blueprints/catalogue.ts'
import { readTemplate } from '../../contracts/blueprints/validate.ts'
import { SYSTEM_NAMESPACE, sha256 } from '../../core/names.ts'
import { ageOf } from '../../core/object.ts'
import { done, type Outcome, stalled } from '../../core/outcome.ts'
import { BLUEPRINT_COLLECTIONS } from '../../crds/blueprintCollections.ts'
import { BlueprintTemplate } from '../../crds/blueprints.ts'
import { controller, type Pass, steps } from '../engine/controller.ts'

type TemplatePass = Pass<typeof BlueprintTemplate>
type CachedTemplate = BlueprintTemplate & { [key: string]: unknown }

/** Nothing tells that an older one went. */
const LOOK_AGAIN = 300_000

/** Says of each template whether it can be read, so that whoever applies one with kubectl sees what is wrong. */
export const templateController = controller(BlueprintTemplate, {
  observes: [],
  writes: [],
  reconcile: steps(refuseBeyondLimit, judgeTemplate),
})

/** REST refuses it (422); of what kubectl makes, the oldest ones count. */
function refuseBeyondLimit({ object, records }: TemplatePass): Outcome {
  const { metadata, spec } = object
  if (metadata.namespace === SYSTEM_NAMESPACE || spec.sourceId !== undefined) return done()
  const older = records
    .cache<CachedTemplate>(BlueprintTemplate.resource)
    .list()
    .filter((other) => other.metadata.namespace === metadata.namespace && other.spec.sourceId === undefined)
    .filter((other) => other.metadata.deletionTimestamp === undefined && ageOf(other) < ageOf(object))
  if (older.length < OWN_TEMPLATES_MAX) return done()
  return stalled('QuotaExceeded', `A boundary keeps at most ${OWN_TEMPLATES_MAX} templates of its own.`, LOOK_AGAIN)
}

function judgeTemplate(pass: TemplatePass): Outcome {
  const { slug, content } = pass.object.spec
  const { template, problems } = readTemplate(content, BLUEPRINT_COLLECTIONS)
  const [first] = problems.filter(({ severity }) => severity === 'Error')
  const isNamed = template === undefined || template.slug === slug
  const digest = sha256(content)
  const { status } = pass.object
  const updatedAt = status?.digest === digest ? status.updatedAt : pass.now
  const head = { name: template?.name, version: template?.version }
  pass.report({ ...head, problems: problems.length, digest, updatedAt })
  if (!isNamed)
    return stalled('ConfigurationInvalid', `Its content has the slug "${template.slug}", and its spec "${slug}".`)
  if (first === undefined) return done()
  const where = first.line === null ? first.path : `line ${first.line}`
  return stalled('ConfigurationInvalid', `${where}: ${first.message}.`.slice(0, 1024))
}
