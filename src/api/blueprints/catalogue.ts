import { setImmediate } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { parseTemplateText } from '../../contracts/blueprints/expressions.ts'
import { isOutputPlaceholder, mapTexts } from '../../contracts/blueprints/specTexts.ts'
import type {
  PARAMETER_TYPES,
  Template,
  TemplateComponent,
  TemplateProblem,
} from '../../contracts/blueprints/template.ts'
import {
  type Catalogue,
  type ParsedTemplate,
  PROBLEMS_MAX,
  parseTemplateSliced,
  problemsOfIssue,
} from '../../contracts/blueprints/validate.ts'
import { asSentence, notFound, PlatformError } from '../../core/errors.ts'
import { objectId } from '../../core/ids.ts'
import { boundaryNamespace, isUuid, SYSTEM_NAMESPACE, sha256 } from '../../core/names.ts'
import { ageOf } from '../../core/object.ts'
import { runInSlices, type SlicedWork } from '../../core/slices.ts'
import { BLUEPRINT_COLLECTIONS } from '../../crds/blueprintCollections.ts'
import { BlueprintSource } from '../../crds/blueprintSources.ts'
import { BlueprintTemplate } from '../../crds/blueprints.ts'
import type { Services } from '../http/context.ts'
import { safeParseModel } from '../http/model.ts'
import { namedRecord } from '../http/namedRecord.ts'
import type { RecordOf } from '../records/records.ts'
import { componentBodySchema } from './bodies.ts'
import { type ShownTemplate, shownOf } from './shown.ts'

export type TemplateObject = RecordOf<typeof BlueprintTemplate>
export const BLUEPRINT_ORIGINS = ['BuiltIn', 'Source', 'Boundary'] as const
export type BlueprintOrigin = (typeof BLUEPRINT_ORIGINS)[number]

export type ListedBlueprint = {
  readonly object: TemplateObject
  readonly origin: BlueprintOrigin
  readonly id: string
  /** The source of the template, if it comes from one. */
  readonly source: RecordOf<typeof BlueprintSource> | undefined
  readonly shown: ShownTemplate
}
export type Blueprint = ListedBlueprint & { readonly read: ParsedTemplate }

const REST_COLLECTIONS: Catalogue = BLUEPRINT_COLLECTIONS

/** A bounded cache of parsed templates. For texts that are not templates, it keeps little and not the text. */
const PARSED_TEMPLATES = new LRUCache<string, ParsedTemplate>({
  maxSize: 33_554_432,
  sizeCalculation: ({ weight }) => weight,
})

/** Reads a template with all its problems, including those of component specs. Yields to other work meanwhile. */
export function readCheckedTemplate(content: string): Promise<ParsedTemplate> {
  return parseCached(sha256(content), content)
}

/** Stored templates are keyed by uid and version: hashing a long text costs as much as parsing a short one. */
function keyOf({ metadata, spec }: TemplateObject): string {
  const { uid, resourceVersion } = metadata
  return uid === undefined || resourceVersion === undefined ? sha256(spec.content) : `${uid} ${resourceVersion}`
}

async function parseCached(key: string, content: string): Promise<ParsedTemplate> {
  const known = PARSED_TEMPLATES.get(key) ?? PARSED_TEMPLATES.get(sha256(content))
  const parsed = known ?? (await runInSlices(readCheckedTemplateSliced(content)))
  if (known === undefined || !PARSED_TEMPLATES.has(key)) PARSED_TEMPLATES.set(key, parsed)
  return parsed
}

/** The same as a generator, for callers that schedule the slices themselves. */
export function* readCheckedTemplateSliced(content: string): SlicedWork<ParsedTemplate> {
  const read = yield* parseTemplateSliced(content, REST_COLLECTIONS)
  const problems = [...read.problems]
  const { draft, problemAt } = read
  for (const [index, component] of draft?.template.components.entries() ?? []) {
    if (problems.length >= PROBLEMS_MAX) break
    yield
    const found = yield* specProblems(draft?.template as Template, component, { index, problemAt })
    problems.push(...found.filter((problem) => draft?.isNewProblem(problem)))
  }
  return { ...read, problems: problems.slice(0, PROBLEMS_MAX) }
}

type Place = { readonly index: number } & Pick<ParsedTemplate, 'problemAt'>

/** Yields the problems for which REST would refuse a component, whatever the parameters are. */
function* specProblems(
  template: Template,
  { collection, spec }: TemplateComponent,
  { index, problemAt }: Place,
): SlicedWork<TemplateProblem[]> {
  const entry = BLUEPRINT_COLLECTIONS.get(collection)
  if (entry === undefined) return []
  const sample = mapTexts(spec, (found) => sampleOf(found, template)) as Record<string, unknown>
  yield
  const { success, error } = safeParseModel(componentBodySchema(entry), sample)
  if (success) return []
  yield
  // An unknown field is wrong regardless of its value.
  const open = error.issues.filter((issue) => issue.code === 'unrecognized_keys' || !isTemplated(spec, issue.path))
  const problems: TemplateProblem[] = []
  const place = { schema: componentBodySchema(entry), problemAt, base: `/components/${index}/spec` }
  for (const issue of open.slice(0, PROBLEMS_MAX)) {
    yield
    problems.push(...problemsOfIssue(issue, place))
  }
  return problems
}

const SAMPLES: Readonly<Record<(typeof PARAMETER_TYPES)[number], unknown>> = {
  string: 'sample',
  integer: 1,
  number: 1,
  boolean: true,
  choice: 'sample',
  secret: 'sample',
  plan: 'sample',
  generated: 'sample',
}

function sampleOf(found: unknown, template: Template): unknown {
  if (isOutputPlaceholder(found)) {
    const { collection } = template.components.find(({ name }) => name === found.component) ?? {}
    return { collection, name: 'sample', output: found.output }
  }
  const parts = partsOf(String(found))
  const [expression] = parts
  if (
    parts.length !== 1 ||
    expression === undefined ||
    typeof expression === 'string' ||
    expression.root !== 'parameters'
  )
    return parts.map((part) => (typeof part === 'string' ? part : 'sample')).join('')
  const { name } = expression
  const parameter = template.parameters.find((one) => one.name === name)
  return parameter?.default ?? parameter?.choices?.[0] ?? SAMPLES[parameter?.type ?? 'string']
}

function partsOf(text: string) {
  try {
    return parseTemplateText(text)
  } catch {
    return [text]
  }
}

/** Whether a value depends on an expression, so that a sample says nothing about it. */
function isTemplated(spec: unknown, path: readonly PropertyKey[]): boolean {
  const value = path.reduce<unknown>((at, part) => (at as Record<PropertyKey, unknown> | undefined)?.[part], spec)
  return JSON.stringify(value ?? null).includes('${')
}

const idOfTemplate = ({ metadata }: TemplateObject): string => objectId(BlueprintTemplate.resource, metadata)

function originOf({ metadata, spec }: TemplateObject): BlueprintOrigin {
  if (metadata.namespace === SYSTEM_NAMESPACE) return 'BuiltIn'
  return spec.sourceId === undefined ? 'Boundary' : 'Source'
}

export async function blueprintOf(object: TemplateObject, source?: ListedTemplate['source']): Promise<Blueprint> {
  const read = await parseCached(keyOf(object), object.spec.content)
  return { object, origin: originOf(object), id: idOfTemplate(object), source, read, shown: shownOf(read) }
}

/** As many characters as the longest templates of one boundary show; of those of many, some are parsed again. */
const SHOWN_TEMPLATES = new LRUCache<string, { shown: ShownTemplate; size: number }>({
  maxSize: 67_108_864,
  sizeCalculation: ({ size }) => size,
})
/** One in so many replaces others in a full cache: a list that does not fit would otherwise find nothing in it. */
const FULL_ADMITS_ONE_IN = 16

async function shownTemplate(object: TemplateObject): Promise<ShownTemplate> {
  const key = keyOf(object)
  const known = SHOWN_TEMPLATES.get(key)
  if (known !== undefined) return known.shown
  // Parse one at a time, and yield to other work after each.
  if (!PARSED_TEMPLATES.has(key)) await setImmediate()
  const shown = shownOf(await parseCached(key, object.spec.content))
  const size = key.length + JSON.stringify(shown).length
  const isFull = SHOWN_TEMPLATES.calculatedSize + size > SHOWN_TEMPLATES.maxSize
  if (!isFull || Math.random() * FULL_ADMITS_ONE_IN < 1) SHOWN_TEMPLATES.set(key, { shown, size })
  return shown
}

/** Returns the templates of the platform and of the boundary. */
const templatesIn = (records: Services['records'], boundaryId: string) =>
  [SYSTEM_NAMESPACE, boundaryNamespace(boundaryId)].flatMap((namespace) => [
    ...records.peekAll(BlueprintTemplate, { namespace }),
  ])

/** Returns the template with an id, even if another template with the same slug hides it. */
export function templateOfId({ records }: Services, boundaryId: string, id: string) {
  const found = templatesIn(records, boundaryId).find((object) => idOfTemplate(object) === id.toLowerCase())
  return found && { slug: found.spec.slug, origin: originOf(found) }
}

type ListedTemplate = { readonly object: TemplateObject; readonly source: RecordOf<typeof BlueprintSource> | undefined }

/** Returns one unparsed template per slug: the boundary's own, else the oldest source's, else the platform's. */
function listedTemplates({ records }: Pick<Services, 'records'>, boundaryId: string): ListedTemplate[] {
  const shown = new Map<string, ListedTemplate & { rank: string }>()
  for (const object of templatesIn(records, boundaryId)) {
    const { metadata, spec } = object
    if (metadata.deletionTimestamp !== undefined) continue
    const ref = { namespace: metadata.namespace ?? '', name: spec.sourceId ?? '' }
    const source = spec.sourceId === undefined ? undefined : records.peek(BlueprintSource, ref)
    // Garbage collection deletes templates shortly after their source.
    if (spec.sourceId !== undefined && (source === undefined || source.metadata.deletionTimestamp !== undefined))
      continue
    const rank = rankOf(object, source)
    const before = shown.get(spec.slug)
    if (before === undefined || rank < before.rank) shown.set(spec.slug, { object, source, rank })
  }
  return [...shown.values()]
}

/** Returns the blueprints of a boundary. Templates that are not known yet are parsed. */
export async function listBlueprints(
  services: Pick<Services, 'records'>,
  boundaryId: string,
): Promise<ListedBlueprint[]> {
  const blueprints: ListedBlueprint[] = []
  for (const { object, source } of listedTemplates(services, boundaryId)) {
    const shown = await shownTemplate(object)
    blueprints.push({ object, origin: originOf(object), id: idOfTemplate(object), source, shown })
  }
  return blueprints
}

const RANKS: Readonly<Record<BlueprintOrigin, number>> = { Boundary: 0, Source: 1, BuiltIn: 2 }
const DISABLED_RANK = 3

function rankOf(object: TemplateObject, source: RecordOf<typeof BlueprintSource> | undefined): string {
  // A template that cannot be deployed must not hide one that can.
  const rank = source?.spec.enabled === false ? DISABLED_RANK : RANKS[originOf(object)]
  return `${rank} ${ageOf(source ?? object)}`
}

/** Finds a blueprint by id or slug. @throws PlatformError NOT_FOUND */
export async function findBlueprint(services: Services, boundaryId: string, key: string): Promise<Blueprint> {
  const hasKey = isUuid(key)
    ? ({ object }: ListedTemplate) => idOfTemplate(object) === key.toLowerCase()
    : ({ object }: ListedTemplate) => object.spec.slug === key
  const found = listedTemplates(services, boundaryId).find(hasKey)
  if (found === undefined) throw notFound(`Blueprint "${key.slice(0, 128)}" of boundary "${boundaryId}"`)
  return blueprintOf(found.object, found.source)
}

/** @throws PlatformError TEMPLATE_INVALID with `problems` */
export function requireValid({ template, problems }: ParsedTemplate): Template {
  const errors = problems.filter(({ severity }) => severity === 'Error')
  if (template !== undefined && errors.length === 0) return template
  const [first] = errors
  const location = first?.path === '' || first === undefined ? '' : ` at ${first.path}`
  const message = asSentence(`The template is not valid${location}: ${first?.message}`)
  throw new PlatformError('TEMPLATE_INVALID', message, { problems })
}

export const TemplateProblemDto = namedRecord('TemplateProblem', {
  severity: z.enum(['Error', 'Warning']),
  code: z.string(),
  path: z.string().describe('JSON Pointer (RFC 6901)'),
  line: z.int().nullable(),
  column: z.int().nullable(),
  message: z.string(),
})
