import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { readText } from '../../contracts/blueprints/expressions.ts'
import type { PARAMETER_TYPES, Template, TemplateProblem } from '../../contracts/blueprints/template.ts'
import {
  type Catalogue,
  problemsOfIssue,
  type ReadTemplate,
  readTemplate,
} from '../../contracts/blueprints/validate.ts'
import { isOutputMark, mapTexts } from '../../contracts/blueprints/walk.ts'
import type { ActionName } from '../../core/actions.ts'
import { PlatformError } from '../../core/errors.ts'
import { BLUEPRINT_COLLECTIONS } from '../../crds/blueprintCollections.ts'
import { parsed } from '../http/model.ts'
import { bodyOf } from './bodies.ts'

const CATALOGUE: Catalogue = BLUEPRINT_COLLECTIONS

/** Texts that were read, as many as fit: what is read is some times as large as the text. */
const READ = new LRUCache<string, ReadTemplate>({
  maxSize: 8_388_608,
  sizeCalculation: (_read, text) => text.length + 1,
})

/** A template with all that is wrong with it, the specs of its components included. */
export function readWhole(content: string): ReadTemplate {
  const known = READ.get(content)
  if (known !== undefined) return known
  const read = readTemplate(content, CATALOGUE)
  const problems = read.template === undefined ? [] : specProblems(read.template, read)
  const whole = { ...read, problems: [...read.problems, ...problems].slice(0, 50) }
  READ.set(content, whole)
  return whole
}

/** What REST would refuse of each component, whatever the parameters are. */
function specProblems(template: Template, { problemAt }: ReadTemplate): TemplateProblem[] {
  return template.components.flatMap(({ collection, spec }, index) => {
    const entry = BLUEPRINT_COLLECTIONS.get(collection)
    if (entry === undefined) return []
    const sample = mapTexts(spec, (found) => sampleOf(found, template)) as Record<string, unknown>
    const { success, error } = parsed(bodyOf(entry), sample)
    if (success) return []
    const open = error.issues.filter((issue) => !isOpen(spec, issue.path))
    return open.flatMap((issue) => problemsOfIssue(issue, problemAt, `/components/${index}/spec`))
  })
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
  if (isOutputMark(found)) {
    const { collection } = template.components.find(({ name }) => name === found.component) ?? {}
    return { collection, name: 'sample', output: found.output }
  }
  const parts = partsOf(String(found))
  const [only] = parts
  if (parts.length !== 1 || only === undefined || typeof only === 'string' || only.root !== 'parameters')
    return parts.map((part) => (typeof part === 'string' ? part : 'sample')).join('')
  const { name } = only
  const parameter = template.parameters.find((one) => one.name === name)
  return parameter?.default ?? parameter?.choices?.[0] ?? SAMPLES[parameter?.type ?? 'string']
}

function partsOf(text: string) {
  try {
    return readText(text)
  } catch {
    return [text]
  }
}

/** Whether a value of the spec follows from an expression, so that a sample says nothing about it. */
function isOpen(spec: unknown, path: readonly PropertyKey[]): boolean {
  const value = path.reduce<unknown>((at, part) => (at as Record<PropertyKey, unknown> | undefined)?.[part], spec)
  return JSON.stringify(value ?? null).includes('${')
}

/** What deploying a template needs in the group. */
export function permissionsOf({ components }: Template): ActionName[] {
  const actions = components.flatMap(({ collection }) => BLUEPRINT_COLLECTIONS.get(collection)?.action ?? [])
  return [...new Set(actions)].sort()
}

/** @throws PlatformError TEMPLATE_INVALID with `problems` */
export function requireValid({ template, problems }: ReadTemplate): Template {
  const errors = problems.filter(({ severity }) => severity === 'Error')
  if (template !== undefined && errors.length === 0) return template
  const [first] = errors
  const where = first?.path === '' || first === undefined ? '' : ` at ${first.path}`
  throw new PlatformError('TEMPLATE_INVALID', `The template is not valid${where}: ${first?.message}.`, { problems })
}

export const TemplateProblemDto = z
  .object({
    severity: z.enum(['Error', 'Warning']),
    code: z.string(),
    path: z.string().describe('JSON Pointer (RFC 6901)'),
    line: z.int().nullable(),
    column: z.int().nullable(),
    message: z.string(),
  })
  .meta({ id: 'TemplateProblem' })
