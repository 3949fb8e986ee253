import type { z } from 'zod'
import { isRecord } from '../../core/isRecord.ts'
import { escapedPart } from '../../core/jsonPointer.ts'
import { plainLine } from '../../core/plainLine.ts'
import { describeIssue } from '../../core/schemaIssues.ts'
import type { SlicedWork } from '../../core/slices.ts'
import { suggestion } from '../../core/suggestion.ts'
import { unknownFieldReason } from '../../core/unknownField.ts'
import { isSecretOutput, OUTPUTS, type OutputCollection, outputsOf } from '../references.ts'
import { DocumentError, parseTemplateDocumentSliced, type TemplateDocument } from './document.ts'
import { type Draft, draftOf } from './draft.ts'
import { ExpressionError, parseCondition, parseTemplateText, type Reference, referencesOf } from './expressions.ts'
import { parseParameter, patternRefusal } from './parameters.ts'
import { isOutputPlaceholder, textsOf } from './specTexts.ts'
import {
  type BlueprintParameter,
  FIELDS_OF_TYPE,
  isSecretParameter,
  Template,
  type TemplateComponent,
  type TemplateProblem,
  type TemplateProblemCode,
} from './template.ts'

/** The collections that a template may create, each with the plain fields that expressions may name. */
export type Catalogue = ReadonlyMap<string, { readonly fields: ReadonlySet<string> }>

export type ParsedTemplate = {
  /** Undefined if the content does not have the shape of a template. */
  readonly template: Template | undefined
  /** As much of it as can be read, to find further problems; undefined if nothing can. */
  readonly draft: Draft | undefined
  readonly problems: readonly TemplateProblem[]
  /** Text fields at the top of the document, whether valid or not. */
  readonly head: Readonly<Partial<Record<(typeof HEAD)[number], string>>>
  /** Approximate memory, in characters. */
  readonly weight: number
  /** Names of components, each after its dependencies; without components in a cycle. */
  readonly order: readonly string[]
  readonly dependencies: ReadonlyMap<string, ReadonlySet<string>>
  /** Makes a problem with its position, for callers that know more about a spec. */
  readonly problemAt: (code: TemplateProblemCode, path: string, message: string) => TemplateProblem
}

/** More problems than a person reads at once. */
export const PROBLEMS_MAX = 50
/** Weight of the result for a text that is not a document. */
const EMPTY_WEIGHT = 1_024
const HEAD = ['name', 'version', 'description', 'icon'] as const

function headOf(value: unknown): ParsedTemplate['head'] {
  if (!isRecord(value)) return {}
  return Object.fromEntries(
    HEAD.flatMap((name) => (typeof value[name] === 'string' ? [[name, value[name].trim()]] : [])),
  )
}

/** Reads a template and reports all problems that the template alone shows. In slices; never throws. */
export function* parseTemplateSliced(content: string, catalogue: Catalogue): SlicedWork<ParsedTemplate> {
  const nothing = {
    template: undefined,
    draft: undefined,
    head: {},
    weight: EMPTY_WEIGHT,
    order: [],
    dependencies: new Map<string, ReadonlySet<string>>(),
  }
  let document: TemplateDocument
  try {
    document = yield* parseTemplateDocumentSliced(content)
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error
    const { message, position } = error
    // A substring keeps the whole text in memory; a copy does not.
    const problem = structuredClone({ severity: 'Error' as const, code: 'Syntax' as const, path: '', message })
    const { line = null, column = null } = position ?? {}
    return { ...nothing, problems: [{ ...problem, line, column }], problemAt: () => ({ ...problem, line, column }) }
  }
  const problemAt = (code: TemplateProblemCode, path: string, message: string): TemplateProblem => ({
    severity: 'Error',
    code,
    path,
    ...document.positionOf(path),
    // Messages quote the document, which is somebody else's if it comes from a repository.
    message: plainLine(message, MESSAGE_MAX),
  })
  const read = Template.safeParse(document.value, { reportInput: true })
  const [head, weight] = [headOf(document.value), document.weight]
  yield
  const checked = function* (template: Template, isNewProblem: Draft['isNewProblem']): SlicedWork<Checker> {
    const checker = new Checker({ template, catalogue, problemAt, isNewProblem })
    yield* checker.check()
    return checker
  }
  if (read.success) {
    const draft = { template: read.data, slug: read.data.slug, isNewProblem: () => true }
    const { problems, order, dependencies } = yield* checked(read.data, draft.isNewProblem)
    return { template: read.data, draft, head, weight, ...limitProblems(problems), order, dependencies, problemAt }
  }
  const issues = read.error.issues.slice(0, PROBLEMS_MAX)
  const shape = issues.flatMap((issue) => problemsOfIssue(issue, { schema: Template, problemAt }))
  yield
  const draft = draftOf(document.value, shape)
  yield
  const more = draft === undefined ? [] : (yield* checked(draft.template, draft.isNewProblem)).problems
  return { ...nothing, draft, head, weight, ...limitProblems([...shape, ...more]), problemAt }
}

const limitProblems = (problems: readonly TemplateProblem[]) => ({ problems: problems.slice(0, PROBLEMS_MAX) })

type Issue = z.core.$ZodIssue

const pointerOf = (path: readonly PropertyKey[]) => path.map((part) => `/${escapedPart(String(part))}`).join('')

/**
 * Turns an issue of a schema into problems of the template.
 *
 * @param base where the checked value is in the template
 */
export function problemsOfIssue(
  issue: Issue,
  { schema, problemAt, base = '' }: { schema: z.ZodType; problemAt: ParsedTemplate['problemAt']; base?: string },
): TemplateProblem[] {
  const path = base + pointerOf(issue.path)
  if (issue.code === 'unrecognized_keys')
    return issue.keys
      .slice(0, PROBLEMS_MAX)
      .map((key) =>
        problemAt('UnknownField', `${path}/${escapedPart(key)}`, unknownFieldReason(schema, issue.path, key)),
      )
  const isMissing = 'input' in issue && issue.input === undefined && issue.code.startsWith('invalid_')
  const suggested =
    issue.code === 'invalid_value' && typeof issue.input === 'string'
      ? suggestion(issue.input, issue.values.map(String))
      : ''
  return [problemAt(isMissing ? 'MissingField' : 'SpecInvalid', path, `${describeIssue(issue)}${suggested}`)]
}

/** In characters. */
const MESSAGE_MAX = 1_024

type CheckerOptions = {
  readonly template: Template
  readonly catalogue: Catalogue
  readonly problemAt: ParsedTemplate['problemAt']
  readonly isNewProblem: Draft['isNewProblem']
}

class Checker {
  readonly problems: TemplateProblem[] = []
  readonly order: string[] = []
  readonly dependencies = new Map<string, Set<string>>()
  readonly #template: Template
  readonly #catalogue: Catalogue
  readonly #problemAt: ParsedTemplate['problemAt']
  readonly #isNewProblem: Draft['isNewProblem']
  readonly #parameters: ReadonlyMap<string, BlueprintParameter>
  readonly #components: ReadonlyMap<string, TemplateComponent>

  constructor({ template, catalogue, problemAt, isNewProblem }: CheckerOptions) {
    this.#template = template
    this.#catalogue = catalogue
    this.#problemAt = problemAt
    this.#isNewProblem = isNewProblem
    this.#parameters = new Map(template.parameters.map((one) => [one.name, one]))
    this.#components = new Map(template.components.map((one) => [one.name, one]))
  }

  *check(): SlicedWork<void> {
    const { parameters, components, outputs } = this.#template
    for (const [list, items] of Object.entries({ parameters, components, outputs })) this.#checkDuplicates(list, items)
    for (const [index, parameter] of parameters.entries()) this.#checkParameter(parameter, `/parameters/${index}`)
    for (const [index, component] of components.entries()) {
      yield
      yield* this.#checkComponent(component, `/components/${index}`)
    }
    this.#sort()
    for (const [index, output] of outputs.entries()) {
      const path = `/outputs/${index}`
      const { value, component, output: name, secret } = output
      if ((value === undefined) === (component === undefined && name === undefined))
        this.#add('MissingField', path, 'needs either value, or component and output')
      else if (value !== undefined) this.#checkText(value, `${path}/value`, {})
      else if (component === undefined || name === undefined)
        this.#add('MissingField', path, 'needs both component and output')
      else this.#checkOutput({ component, output: name }, path, secret)
    }
  }

  #add(code: TemplateProblemCode, path: string, message: string): void {
    if (this.#isFull || !this.#isNewProblem({ code, path })) return
    this.problems.push(this.#problemAt(code, path, message))
  }

  /** Checks stop once there are as many problems as are shown, because they take long. */
  get #isFull(): boolean {
    return this.problems.length >= PROBLEMS_MAX
  }

  #suggestionFor(word: string, known: Iterable<string>): string {
    return this.#isFull ? '' : suggestion(word, known)
  }

  #checkDuplicates(list: string, items: readonly { name: string }[]): void {
    const seen = new Set<string>()
    for (const [index, { name }] of items.entries()) {
      if (seen.has(name))
        this.#add('DuplicateName', `/${list}/${index}/name`, `"${name}" is already the name of another one`)
      seen.add(name)
    }
  }

  #checkParameter(parameter: BlueprintParameter, path: string): void {
    const { type, choices, family, pattern, default: preset } = parameter
    const { minLength = 0, maxLength = Infinity, minimum = -Infinity, maximum = Infinity } = parameter
    const allowed = new Set<string>(['name', 'type', 'title', 'description', ...FIELDS_OF_TYPE[type]])
    for (const [field, value] of Object.entries(parameter))
      if (value !== undefined && !allowed.has(field))
        this.#add('UnknownField', `${path}/${field}`, `is not a field of a parameter of type ${type}`)
    if (type === 'choice' && choices === undefined) this.#add('MissingField', path, 'a choice needs choices')
    if (type === 'plan' && family === undefined) this.#add('MissingField', path, 'a plan needs the family of its plans')
    if (minLength > maxLength) this.#add('SpecInvalid', `${path}/minLength`, 'must not be more than maxLength')
    if (minimum > maximum) this.#add('SpecInvalid', `${path}/minimum`, 'must not be more than maximum')
    const refusal = pattern === undefined ? undefined : patternRefusal(pattern)
    if (refusal !== undefined) this.#add('SpecInvalid', `${path}/pattern`, refusal)
    if (preset === undefined || refusal !== undefined || !allowed.has('default')) return
    const read = parseParameter(parameter, preset)
    if ('refusal' in read) this.#add('SpecInvalid', `${path}/default`, read.refusal)
  }

  *#checkComponent(component: TemplateComponent, path: string): SlicedWork<void> {
    const { name, collection, dependsOn, when, resourceName, spec } = component
    const needs = new Set<string>()
    this.dependencies.set(name, needs)
    if (!this.#catalogue.has(collection))
      this.#add(
        'UnknownCollection',
        `${path}/collection`,
        `"${collection}" is not a collection that a blueprint can create resources of${this.#suggestionFor(collection, this.#catalogue.keys())}`,
      )
    this.#checkText(resourceName, `${path}/resourceName`, { isEarly: true })
    for (const [index, other] of dependsOn.entries())
      if (this.#isComponent(other, `${path}/dependsOn/${index}`)) needs.add(other)
    if (when !== undefined) this.#checkCondition(when, `${path}/when`)
    for (const { value, pointer } of textsOf(spec)) {
      yield
      const at = `${path}/spec${pointer}`
      if (isOutputPlaceholder(value)) {
        this.#checkOutput(value, at, true)
        needs.add(value.component)
      } else if (typeof value === 'string') {
        const mayBeSecret = collection === 'secrets' && pointer === '/value'
        for (const { root, ...reference } of this.#checkText(value, at, { mayBeSecret }))
          if (root === 'components') needs.add((reference as { component: string }).component)
      }
    }
  }

  #isComponent(name: string, path: string): boolean {
    if (this.#components.has(name)) return true
    this.#add(
      'UnknownComponent',
      path,
      `there is no component "${name}"${this.#suggestionFor(name, this.#components.keys())}`,
    )
    return false
  }

  #checkCondition(when: string, path: string): void {
    try {
      for (const reference of referencesOf(parseCondition(when)))
        this.#checkReference(reference, path, { isEarly: true })
    } catch (error) {
      this.#addExpressionError(error, path)
    }
  }

  #checkText(text: string, path: string, place: TextPlace): readonly Reference[] {
    if (this.#isFull) return []
    try {
      const references = parseTemplateText(text).filter((part) => typeof part !== 'string')
      for (const reference of references) this.#checkReference(reference, path, place)
      return references
    } catch (error) {
      this.#addExpressionError(error, path)
      return []
    }
  }

  #addExpressionError(error: unknown, path: string): void {
    if (!(error instanceof ExpressionError)) throw error
    this.#add('BadExpression', path, error.message)
  }

  #checkReference(reference: Reference, path: string, { isEarly, mayBeSecret }: TextPlace): void {
    if (reference.root === 'parameters') {
      const parameter = this.#parameters.get(reference.name)
      if (parameter === undefined) {
        const suggested = this.#suggestionFor(reference.name, this.#parameters.keys())
        this.#add('UnknownParameter', path, `there is no parameter "${reference.name}"${suggested}`)
      } else if (isSecretParameter(parameter) && mayBeSecret !== true) this.#add('SecretExposed', path, SECRET_PLACES)
    }
    if (reference.root !== 'components') return
    const { component, field } = reference
    if (isEarly === true)
      this.#add('BadExpression', path, 'must be known before anything is created: it cannot name a component')
    else if (this.#isComponent(component, path)) {
      const { collection = '' } = this.#components.get(component) ?? {}
      const fields = this.#catalogue.get(collection)?.fields
      if (fields !== undefined && !fields.has(field))
        this.#add(
          'BadExpression',
          path,
          `"${field}" is not a plain field of ${collection}${this.#suggestionFor(field, fields) || SECRETS}`,
        )
    }
  }

  #checkOutput({ component, output }: { component: string; output: string }, path: string, maySecret: boolean): void {
    if (!this.#isComponent(component, path)) return
    const { collection = '' } = this.#components.get(component) ?? {}
    if (!Object.hasOwn(OUTPUTS, collection)) {
      this.#add('SpecInvalid', path, `${collection} have no outputs`)
      return
    }
    const known = collection as OutputCollection
    if (!outputsOf(known).includes(output))
      this.#add(
        'SpecInvalid',
        path,
        `outputs of ${collection} are ${outputsOf(known).join(', ')}${this.#suggestionFor(output, outputsOf(known))}`,
      )
    else if (isSecretOutput({ collection: known, name: component, output }) && !maySecret)
      this.#add('SecretExposed', path, 'is a secret: mark the output with secret: true')
  }

  /** Picks components whose dependencies have all been picked; if none is left to pick, the rest is in cycles. */
  #sort(): void {
    const left = new Map(this.#template.components.map(({ name }, index) => [name, index]))
    for (;;) {
      const isFree = (name: string) => ![...(this.dependencies.get(name) ?? [])].some((other) => left.has(other))
      const next = [...left.keys()].find(isFree)
      if (next === undefined) break
      this.order.push(next)
      left.delete(next)
    }
    for (const [name, index] of left)
      this.#add('Cycle', `/components/${index}`, `"${name}" depends on itself, directly or through others`)
  }
}

type TextPlace = { isEarly?: boolean; mayBeSecret?: boolean }

const SECRETS = '; secrets are given by output'
const SECRET_PLACES = 'is a secret: make it the value of a component of secrets, and refer to that secret'
