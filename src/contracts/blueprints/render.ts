import {
  type BuiltInName,
  ExpressionError,
  isMet,
  parseCondition,
  parseTemplateText,
  type Reference,
  renderTemplateText,
  type Scalar,
  TextTooLongError,
} from './expressions.ts'
import { mapTexts } from './specTexts.ts'
import type { Template, TemplateComponent, TemplateOutput } from './template.ts'
import type { ParsedTemplate } from './validate.ts'

export type DeferredReference =
  | { root: 'components'; component: string; field: string }
  | { root: 'parameters'; name: string }

/**
 * Placeholder in a rendered text for a value that is known only once something is created, or may only be stored in a
 * Secret: `%{<mark>.components.web.publicUrl}` and `%{<mark>.parameters.password}`. The controller replaces it. The
 * mark is random per deployment, so that nothing that people type can pass for a placeholder.
 */
function placeholderOf(mark: string, path: string): string {
  return mark === '' ? `%{${path}}` : `%{${mark}.${path}}`
}

const PATH = String.raw`(components|parameters)\.([A-Za-z][A-Za-z0-9-]{0,63})(?:\.([A-Za-z][A-Za-z0-9-]{0,63}))?`

/**
 * Replaces placeholders with their late values. Placeholders that `lookUp` does not know stay.
 *
 * @param mark letters and digits; empty for a deployment from before marks existed
 */
export function fillDeferredValues(
  text: string,
  mark: string,
  lookUp: (reference: DeferredReference) => string | undefined,
): string {
  const pattern = new RegExp(`%\\{${mark === '' ? '' : `${mark}\\.`}${PATH}\\}`, 'g')
  return text.replaceAll(pattern, (whole: string, root: string, first: string, field: string | undefined) => {
    if (root === 'parameters') return (field === undefined ? lookUp({ root, name: first }) : undefined) ?? whole
    return (field === undefined ? undefined : lookUp({ root: 'components', component: first, field })) ?? whole
  })
}

/** Returns the text for people, with the template's expressions in place of late values. */
export function restoreExpressions(text: string, mark: string): string {
  return fillDeferredValues(text, mark, (reference) =>
    reference.root === 'parameters'
      ? `\${parameters.${reference.name}}`
      : `\${components.${reference.component}.${reference.field}}`,
  )
}

/** Maximum characters of all texts of a deployment: the etcd object that stores them has room for little more. */
export const MAX_RENDERED_CHARACTERS = 600_000

export type RenderedComponent = {
  readonly component: TemplateComponent
  readonly index: number
  readonly resourceName: string
  readonly isSkipped: boolean
  /** Components that must be ready first. */
  readonly dependsOn: readonly string[]
  /** The writable fields of the REST record to create. */
  readonly body: Readonly<Record<string, unknown>>
}
export type RenderedOutput = Readonly<TemplateOutput>

export type RenderContext = {
  readonly parameters: Readonly<Record<string, Scalar>>
  readonly builtIns: Readonly<Record<BuiltInName, string>>
  /** The mark of placeholders for late values. */
  readonly mark: string
}

export type RenderedTemplate = {
  readonly components: readonly RenderedComponent[]
  readonly outputs: readonly RenderedOutput[]
  /** Why components or outputs cannot be rendered with these values. */
  readonly refusals: readonly RenderRefusal[]
}
export type RenderRefusal = { readonly of: 'component' | 'output'; readonly name: string; readonly message: string }

type DependencyOrder = Pick<ParsedTemplate, 'order' | 'dependencies'>

/** Fills a valid template with values: what to create, in the order of dependencies. Never throws. */
export function renderTemplate(template: Template, read: DependencyOrder, context: RenderContext): RenderedTemplate {
  return new Renderer(template, read.dependencies, context).render(read.order)
}

class Renderer {
  readonly #template: Template
  readonly #dependencies: DependencyOrder['dependencies']
  readonly #context: RenderContext
  readonly #made = new Map<string, RenderedComponent>()
  readonly #refusals: RenderRefusal[] = []
  #charactersLeft = MAX_RENDERED_CHARACTERS

  constructor(template: Template, dependencies: DependencyOrder['dependencies'], context: RenderContext) {
    this.#template = template
    this.#dependencies = dependencies
    this.#context = context
  }

  render(order: readonly string[]): RenderedTemplate {
    const { components, outputs } = this.#template
    for (const name of order) {
      const index = components.findIndex((one) => one.name === name)
      const component = components[index]
      if (component === undefined) continue
      try {
        this.#made.set(name, this.#renderOne(component, index))
      } catch (error) {
        if (!(error instanceof ExpressionError)) throw error
        this.#refusals.push({ of: 'component', name, message: error.message })
      }
    }
    const isMade = (component: string | undefined) =>
      component === undefined || this.#made.get(component)?.isSkipped === false
    const shown = outputs.filter(({ component }) => isMade(component)).flatMap((output) => this.#renderOutput(output))
    return { components: [...this.#made.values()], outputs: shown, refusals: this.#refusals }
  }

  #renderOne(component: TemplateComponent, index: number): RenderedComponent {
    const resourceName = this.#text(component.resourceName)
    const early = (reference: Reference) => this.#lookUp(reference)
    const isSkipped = component.when !== undefined && !isMet(parseCondition(component.when), early)
    const dependsOn = [...(this.#dependencies.get(component.name) ?? [])]
    const rendered = { component, index, resourceName: String(resourceName ?? ''), isSkipped, dependsOn }
    if (isSkipped) return { ...rendered, body: {} }
    const body = mapTexts(component.spec, (found) => {
      if (typeof found === 'string') return this.#text(found)
      const other = this.#requireComponent(found.component)
      return { collection: other.component.collection, name: other.resourceName, output: found.output }
    })
    return { ...rendered, body: body as Record<string, unknown> }
  }

  #renderOutput({ name, secret, value, component, output }: Template['outputs'][number]): RenderedOutput[] {
    if (component !== undefined && output !== undefined) return [{ name, secret, component, output }]
    try {
      return [{ name, secret, value: String(this.#text(value ?? '') ?? '') }]
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error
      // Not a problem otherwise: a skipped component has no outputs.
      if (error instanceof TextTooLongError) this.#refusals.push({ of: 'output', name, message: error.message })
      return []
    }
  }

  #text(text: string): Scalar {
    const rendered = renderTemplateText(
      parseTemplateText(text),
      (reference) => this.#lookUp(reference),
      this.#charactersLeft,
    )
    this.#charactersLeft -= String(rendered ?? '').length
    return rendered
  }

  #requireComponent(name: string): RenderedComponent {
    const made = this.#made.get(name)
    if (made === undefined || made.isSkipped) throw new ExpressionError(`refers to "${name}", which is not created`)
    return made
  }

  #lookUp(reference: Reference): Scalar {
    const { parameters, builtIns, mark } = this.#context
    if (reference.root === 'builtIn') return builtIns[reference.name]
    if (reference.root === 'parameters') {
      const { name } = reference
      return Object.hasOwn(parameters, name) ? (parameters[name] ?? null) : placeholderOf(mark, `parameters.${name}`)
    }
    const { component, field } = reference
    const made = this.#requireComponent(component)
    return field === 'name' ? made.resourceName : placeholderOf(mark, `components.${component}.${field}`)
  }
}
