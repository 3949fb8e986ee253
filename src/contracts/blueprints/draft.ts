import { isRecord } from '../../core/isRecord.ts'
import {
  BlueprintParameter,
  slugRefusal,
  Template,
  TemplateComponent,
  TemplateOutput,
  type TemplateProblem,
} from './template.ts'

/** As much of a template as can be read from a document of the wrong shape. Only used to find further problems. */
export type Draft = {
  readonly template: Template
  /** Its slug, if that is valid. */
  readonly slug: string | undefined
  /** Whether a problem of the draft is one of its own, and not a consequence of the document's shape. */
  readonly isNewProblem: (problem: Pick<TemplateProblem, 'code' | 'path'>) => boolean
}

const PLACEHOLDERS = {
  parameters: { type: 'string' },
  components: { collection: 'unknown', resourceName: 'unknown' },
  outputs: { value: 'unknown' },
} as const
const ITEMS = { parameters: BlueprintParameter, components: TemplateComponent, outputs: TemplateOutput } as const
const HEAD = { format: 1, slug: 'unknown', name: 'unknown', version: '0.0.0' }
/** As many as the longest list of a template may have. */
const ITEMS_MAX = 50

/**
 * Returns a template with stand-ins for everything that cannot be read, so that its author learns of all problems at
 * once.
 *
 * @param shape the problems of the document's shape
 */
export function draftOf(value: unknown, shape: readonly TemplateProblem[]): Draft | undefined {
  if (!isRecord(value)) return undefined
  const draft = Template.safeParse({ ...HEAD, components: [{ name: 'a', ...PLACEHOLDERS.components }] })
  if (!draft.success) return undefined
  const template = {
    ...draft.data,
    parameters: salvageItems(value, 'parameters') as BlueprintParameter[],
    components: salvageItems(value, 'components') as TemplateComponent[],
    outputs: salvageItems(value, 'outputs') as TemplateOutput[],
  }
  const bases = shape.filter(({ code }) => code !== 'UnknownField').map(({ path }) => problemGroupOf(path))
  const isNewProblem: Draft['isNewProblem'] = ({ code, path }) => {
    if (code === 'UnknownParameter' && !isEachNamed(value.parameters)) return false
    if (code === 'UnknownComponent' && !isEachNamed(value.components ?? {})) return false
    return !bases.some((base) => path === base || path.startsWith(`${base}/`))
  }
  const { slug } = value
  return {
    template,
    slug: typeof slug === 'string' && slugRefusal(slug) === undefined ? slug : undefined,
    isNewProblem,
  }
}

type List = keyof typeof ITEMS

/** Returns the items of a list in their places, without their invalid fields. */
function salvageItems(value: Readonly<Record<string, unknown>>, list: List): unknown[] {
  const items = value[list]
  return Array.isArray(items) ? items.slice(0, ITEMS_MAX).map((item, index) => salvageItem(item, list, index)) : []
}

function salvageItem(item: unknown, list: List, index: number): unknown {
  const schema = ITEMS[list]
  const given = isRecord(item) ? item : {}
  const first = schema.safeParse(given)
  if (first.success) return first.data
  const wrong = new Set(
    first.error.issues.flatMap(({ path, ...issue }) =>
      issue.code === 'unrecognized_keys' && path.length === 0 ? issue.keys : [String(path[0])],
    ),
  )
  const right = Object.entries(given).filter(([name]) => !wrong.has(name))
  const read = schema.parse({ ...PLACEHOLDERS[list], name: 'unknown', ...Object.fromEntries(right) })
  // An invalid name is still the one that references use.
  return { ...read, name: typeof given.name === 'string' ? given.name : `/${list}/${index}` }
}

/** Fields of a parameter or an output are judged together, those of a component one by one. */
function problemGroupOf(path: string): string {
  return /^\/(parameters|outputs)\/[0-9]+/.exec(path)?.[0] ?? path
}

/** Whether all names of a list are known, so that a reference to another name is a mistake. */
function isEachNamed(items: unknown): boolean {
  if (items === undefined) return true
  if (!Array.isArray(items) || items.length > ITEMS_MAX) return false
  return items.every((item) => isRecord(item) && typeof item.name === 'string')
}
