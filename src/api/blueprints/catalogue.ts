import { OWN_TEMPLATES_MAX, sourceTemplateName } from '../../contracts/blueprints/catalogue.ts'
import type { ReadTemplate } from '../../contracts/blueprints/validate.ts'
import { notFound } from '../../core/errors.ts'
import { idOf } from '../../core/ids.ts'
import { boundaryNamespace, isUuid, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { ageOf } from '../../core/object.ts'
import { BlueprintSource } from '../../crds/blueprintSources.ts'
import { BlueprintTemplate } from '../../crds/blueprints.ts'
import type { Services } from '../http/context.ts'
import type { RecordOf } from '../records/records.ts'
import { readWhole } from './reading.ts'

export type TemplateObject = RecordOf<typeof BlueprintTemplate>
export type SourceObject = RecordOf<typeof BlueprintSource>
export const ORIGINS = ['BuiltIn', 'Source', 'Boundary'] as const
export type Origin = (typeof ORIGINS)[number]

/** A template where it stands in the catalogue, not read yet. */
type Shown = { readonly object: TemplateObject; readonly source: SourceObject | undefined }

export type Blueprint = Shown & {
  readonly origin: Origin
  readonly id: string
  /** False of a source that is switched off: it is shown, and not deployed. */
  readonly isEnabled: boolean
  readonly read: ReadTemplate
}

type Records = Pick<Services, 'records'>

export function blueprintIdOf({ metadata: { namespace, name } }: TemplateObject): string {
  const { kind, resource } = BlueprintTemplate
  return idOf({ group: resource.group, kind, namespace, name })
}

export function originOf({ metadata, spec }: TemplateObject): Origin {
  if (metadata.namespace === SYSTEM_NAMESPACE) return 'BuiltIn'
  return spec.sourceId === undefined ? 'Boundary' : 'Source'
}

export function blueprintOf(object: TemplateObject, source?: SourceObject): Blueprint {
  const isEnabled = source?.spec.enabled ?? true
  return {
    object,
    source,
    origin: originOf(object),
    id: blueprintIdOf(object),
    isEnabled,
    read: readWhole(object.spec.content),
  }
}

const isPresent = ({ metadata }: { metadata: TemplateObject['metadata'] }) => metadata.deletionTimestamp === undefined

/** The sources of a boundary, the oldest first; those that are switched off come last. */
export function sourcesOf({ records }: Records, boundaryId: string): SourceObject[] {
  const rank = (source: SourceObject) => `${source.spec.enabled ? 0 : 1} ${ageOf(source)}`
  return [...records.peekAll(BlueprintSource, { namespace: boundaryNamespace(boundaryId) })]
    .filter(isPresent)
    .sort((one, other) => (rank(one) < rank(other) ? -1 : 1))
}

/** Templates that a boundary keeps itself, the oldest first. Beyond the limit there are those that kubectl made. */
export function ownTemplates({ records }: Records, boundaryId: string): TemplateObject[] {
  return [...records.peekAll(BlueprintTemplate, { namespace: boundaryNamespace(boundaryId) })]
    .filter((object) => isPresent(object) && object.spec.sourceId === undefined && isNamedLikeSlug(object))
    .sort((one, other) => (ageOf(one) < ageOf(other) ? -1 : 1))
    .slice(0, OWN_TEMPLATES_MAX)
}

/** What administrators name otherwise is found by nobody. */
const isNamedLikeSlug = ({ metadata, spec }: TemplateObject) => metadata.name === spec.slug

/**
 * Those that a slug may mean, in the order in which one hides the next: that of the boundary, those of its sources from the
 * oldest on, that of the platform, and those of sources that are switched off.
 */
function namedBy(services: Records, boundaryId: string, slug: string): Shown[] {
  const namespace = boundaryNamespace(boundaryId)
  const peek = (home: string, name: string, source?: SourceObject): Shown[] => {
    const object = services.records.peek(BlueprintTemplate, { namespace: home, name })
    const isIt = object !== undefined && isPresent(object) && object.spec.sourceId === source?.metadata.name
    return isIt ? [{ object, source }] : []
  }
  const ofSources = sourcesOf(services, boundaryId).map((source) => ({
    isEnabled: source.spec.enabled,
    found: peek(namespace, sourceTemplateName(slug, source.metadata.name), source),
  }))
  const of = (isEnabled: boolean) =>
    ofSources.filter((each) => each.isEnabled === isEnabled).flatMap(({ found }) => found)
  return [...peek(namespace, slug), ...of(true), ...peek(SYSTEM_NAMESPACE, slug), ...of(false)]
}

/** One for each slug. */
function shownOf(services: Records, boundaryId: string): Shown[] {
  const { records } = services
  const templates = records.peekAll(BlueprintTemplate, { namespace: boundaryNamespace(boundaryId) })
  const sources = new Map(sourcesOf(services, boundaryId).map((source) => [source.metadata.name, source]))
  const bySource = Map.groupBy(templates.filter(isPresent), ({ spec }) => spec.sourceId)
  const ofSources = [...sources].flatMap(([id, source]) =>
    (bySource.get(id) ?? [])
      .filter(({ metadata, spec }) => metadata.name === sourceTemplateName(spec.slug, id))
      .map((object) => ({ object, source })),
  )
  const plain = (objects: readonly TemplateObject[]) => objects.map((object) => ({ object, source: undefined }))
  const builtIn = records.peekAll(BlueprintTemplate, { namespace: SYSTEM_NAMESPACE }).filter(isPresent)
  const ranked: Shown[] = [
    ...plain(ownTemplates(services, boundaryId)),
    ...ofSources.filter(({ source }) => source.spec.enabled),
    ...plain(builtIn.filter(isNamedLikeSlug)),
    ...ofSources.filter(({ source }) => !source.spec.enabled),
  ]
  const shown = new Map<string, Shown>()
  for (const each of ranked) if (!shown.has(each.object.spec.slug)) shown.set(each.object.spec.slug, each)
  return [...shown.values()]
}

/** What can be deployed in a boundary: one for each slug. */
export function blueprintsOf(services: Records, boundaryId: string): Blueprint[] {
  return shownOf(services, boundaryId).map(({ object, source }) => blueprintOf(object, source))
}

/** By id or by slug; only that one is read. @throws PlatformError NOT_FOUND */
export function findBlueprint(services: Records, boundaryId: string, key: string): Blueprint {
  const found = isUuid(key)
    ? shownOf(services, boundaryId).find(({ object }) => blueprintIdOf(object) === key)
    : namedBy(services, boundaryId, key)[0]
  if (found === undefined) throw notFound(`Blueprint "${key.slice(0, 128)}" of boundary "${boundaryId}"`)
  return blueprintOf(found.object, found.source)
}

/** The template that a slug means if the boundary keeps none of that name itself. */
export function keptByOthers(services: Records, boundaryId: string, slug: string): TemplateObject | undefined {
  return namedBy(services, boundaryId, slug).find(({ object }) => originOf(object) !== 'Boundary')?.object
}
