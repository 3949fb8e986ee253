import { usage } from './failure.ts'

type Step = { readonly key: string } | { readonly index: number } | 'all'

/**
 * Evaluates a template like `kubectl -o jsonpath`: text, and paths of fields, `[0]` and `[*]` in braces. For a list, a
 * path begins at `.items` like there, or at `[*]`.
 *
 * @throws CommandFailure (usage) for an invalid path
 */
export function evaluateTemplate(template: string, value: unknown): string {
  const root = Array.isArray(value) ? Object.assign([...value], { items: value }) : value
  const braced = template.includes('{') ? template : `{${template}}`
  const outside = braced.replaceAll(/\{[^{}]*\}/g, '')
  if (/[{}]/.test(outside)) throw usage(`"${template}" has an unmatched brace: write paths in {braces}.`)
  return braced.replaceAll(/\{([^}]*)\}/g, (_whole, expression: string) => {
    const text = /^"(.*)"$/.exec(expression)?.[1]
    if (text !== undefined) return text.replaceAll('\\n', '\n').replaceAll('\\t', '\t')
    return evaluate(root, stepsOf(expression)).map(formatValue).join(' ')
  })
}

const STEP = /\.([A-Za-z_][\w-]*)|\[(\d+)\]|\[(\*)\]|\['([^']+)'\]/y

function stepsOf(path: string): Step[] {
  const text = path.replace(/^\$/, '').replace(/^(?=[A-Za-z_])/, '.')
  const steps: Step[] = []
  for (STEP.lastIndex = 0; STEP.lastIndex < text.length; ) {
    const match = STEP.exec(text)
    if (match === null) throw usage(`"{${path}}" is not a path of fields, such as {.status} or {.items[*].name}.`)
    const [, field, index, all, quoted] = match
    if (all !== undefined) steps.push('all')
    else steps.push(index === undefined ? { key: field ?? quoted ?? '' } : { index: Number(index) })
  }
  return steps
}

function evaluate(root: unknown, steps: readonly Step[]): unknown[] {
  let values = [root]
  for (const step of steps) {
    values = values.flatMap((value) => {
      if (typeof value !== 'object' || value === null) return []
      if (step === 'all') return Array.isArray(value) ? [...value] : Object.values(value)
      const key = 'key' in step ? step.key : String(step.index)
      return Object.hasOwn(value, key) ? [(value as Record<string, unknown>)[key]] : []
    })
  }
  return values
}

const formatValue = (value: unknown): string =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '')
