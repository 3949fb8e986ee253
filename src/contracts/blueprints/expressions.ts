import { suggestion } from '../../core/suggestion.ts'

/** What `${...}` refers to in a template (records: blueprints). */
export type Reference =
  | { readonly root: 'parameters'; readonly name: string }
  | { readonly root: 'components'; readonly component: string; readonly field: string }
  | { readonly root: 'builtIn'; readonly name: BuiltInName }

export const BUILT_IN_NAMES = [
  'deploy.name',
  'deploy.id',
  'boundary.id',
  'boundary.name',
  'resourceGroup',
  'cluster.id',
  'cluster.region',
] as const
const ROOTS = ['parameters', 'components']
export type BuiltInName = (typeof BUILT_IN_NAMES)[number]

/** Why an expression cannot be read or evaluated; the message is for people and repeats no value. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError'
}

/** A text with its values is longer than allowed. */
export class TextTooLongError extends ExpressionError {}

export type Scalar = string | number | boolean | null
export type ResolveReference = (reference: Reference) => Scalar

/**
 * Parses a text into literals and references, which are written `${...}`. `$${` stands for the two characters `${`.
 *
 * @throws ExpressionError
 */
export function parseTemplateText(text: string): readonly (string | Reference)[] {
  const parts: (string | Reference)[] = []
  let literal = ''
  let at = 0
  while (at < text.length) {
    const dollar = text.indexOf('$', at)
    if (dollar === -1) break
    literal += text.slice(at, dollar)
    if (text.startsWith('$${', dollar)) {
      literal += '${'
      at = dollar + 3
    } else if (text.startsWith('${', dollar)) {
      const end = text.indexOf('}', dollar)
      if (end === -1) throw new ExpressionError(`"\${" has no "}": write "$\${" for the two characters themselves`)
      if (literal !== '') parts.push(literal)
      literal = ''
      parts.push(readReference(text.slice(dollar + 2, end).trim()))
      at = end + 1
    } else {
      literal += '$'
      at = dollar + 1
    }
  }
  literal += text.slice(at)
  if (literal !== '') parts.push(literal)
  return parts
}

/** @throws ExpressionError */
function readReference(path: string): Reference {
  const builtIn = BUILT_IN_NAMES.find((name) => name === path)
  if (builtIn !== undefined) return { root: 'builtIn', name: builtIn }
  const [root, first, second, more] = path.split('.', 4)
  const isName = (text: string | undefined) => text !== undefined && /^[A-Za-z][A-Za-z0-9-]{0,63}$/.test(text)
  if (root === 'parameters' && isName(first) && second === undefined)
    return { root: 'parameters', name: first as string }
  if (root === 'components' && isName(first) && isName(second) && more === undefined)
    return { root: 'components', component: first as string, field: second as string }
  const suggested = suggestion(path, BUILT_IN_NAMES) || suggestion(root ?? '', ROOTS)
  throw new ExpressionError(
    `"${path.slice(0, 64)}" names nothing: parameters.x, components.c.field, ${BUILT_IN_NAMES.join(', ')}${suggested}`,
  )
}

/**
 * Fills in the values of a text. A text that consists of one reference keeps the type of its value.
 *
 * @throws TextTooLongError before it has more than `maxLength` characters: a short text may name a long value thousands of times
 */
export function renderTemplateText(
  parts: readonly (string | Reference)[],
  lookUp: ResolveReference,
  maxLength: number,
): Scalar {
  const [only] = parts
  const isOne = parts.length === 1 && only !== undefined && typeof only !== 'string'
  let length = 0
  const values = parts.map((part) => {
    const value = typeof part === 'string' ? part : lookUp(part)
    length += String(value ?? '').length
    if (length > maxLength)
      throw new TextTooLongError('is too long with its values, or makes all texts too long together')
    return value
  })
  return isOne ? (values[0] ?? null) : values.map((value) => String(value ?? '')).join('')
}

/** A parsed `when`: literals, references, `==`, `!=`, `&&`, `||`, `!` and parentheses. */
export type Condition =
  | { readonly kind: 'value'; readonly value: Scalar | Reference }
  | { readonly kind: 'not'; readonly of: Condition }
  | { readonly kind: '==' | '!=' | '&&' | '||'; readonly left: Condition; readonly right: Condition }

const CONDITION_MAX_LENGTH = 1024
const DEPTH_MAX = 32
const TOKEN =
  /\s*(?:(==|!=|&&|\|\||!|\(|\))|\$\{([^{}]*)\}|'([^']*)'|"([^"]*)"|(-?[0-9]{1,15}(?:\.[0-9]{1,15})?)(?![A-Za-z0-9_.])|(true|false|null)(?![A-Za-z0-9_]))\s*/y

type Token = { readonly operator: string } | { readonly value: Scalar | Reference }

/** @throws ExpressionError */
function tokensOf(text: string): Token[] {
  const tokens: Token[] = []
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < text.length) {
    const start = TOKEN.lastIndex
    const found = TOKEN.exec(text)
    if (found === null)
      throw new ExpressionError(`cannot be read as a condition from "${text.slice(start).trim().slice(0, 20)}" on`)
    const [, operator, reference, single, double, number, word] = found
    if (operator !== undefined) tokens.push({ operator })
    else if (reference !== undefined) tokens.push({ value: readReference(reference.trim()) })
    else if (number !== undefined) tokens.push({ value: Number(number) })
    else if (word !== undefined) tokens.push({ value: word === 'null' ? null : word === 'true' })
    else tokens.push({ value: single ?? double ?? '' })
  }
  return tokens
}

/** @throws ExpressionError */
export function parseCondition(text: string): Condition {
  if (text.length > CONDITION_MAX_LENGTH) throw new ExpressionError(`is longer than ${CONDITION_MAX_LENGTH} characters`)
  const tokens = tokensOf(text)
  let at = 0
  const operator = () => {
    const token = tokens[at]
    return token !== undefined && 'operator' in token ? token.operator : undefined
  }

  function chain(kind: '||' | '&&', next: (depth: number) => Condition, depth: number): Condition {
    let left = next(depth)
    while (operator() === kind) {
      at += 1
      left = { kind, left, right: next(depth) }
    }
    return left
  }
  const either = (depth: number): Condition => chain('||', both, depth)
  const both = (depth: number): Condition => chain('&&', comparison, depth)

  function comparison(depth: number): Condition {
    const left = unary(depth)
    const kind = operator()
    if (kind !== '==' && kind !== '!=') return left
    at += 1
    return { kind, left, right: unary(depth) }
  }

  function unary(depth: number): Condition {
    if (depth > DEPTH_MAX) throw new ExpressionError(`is nested more than ${DEPTH_MAX} times`)
    const token = tokens[at]
    at += 1
    if (token === undefined) throw new ExpressionError('ends where a value is expected')
    if ('value' in token) return { kind: 'value', value: token.value }
    if (token.operator === '!') return { kind: 'not', of: unary(depth + 1) }
    if (token.operator !== '(') throw new ExpressionError(`"${token.operator}" appears where a value is expected`)
    const inner = either(depth + 1)
    if (operator() !== ')') throw new ExpressionError('a parenthesis is not closed')
    at += 1
    return inner
  }

  const whole = either(0)
  if (at < tokens.length) throw new ExpressionError('continues after its end')
  return whole
}

/** @throws ExpressionError if something that is no boolean is used as one */
export function isMet(condition: Condition, lookUp: ResolveReference): boolean {
  return booleanOf(valueIn(condition, lookUp))
}

function booleanOf(value: Scalar): boolean {
  if (typeof value === 'boolean') return value
  throw new ExpressionError('is neither true nor false: compare the value with == or !=')
}

function valueIn(condition: Condition, lookUp: ResolveReference): Scalar {
  switch (condition.kind) {
    case 'value':
      return typeof condition.value === 'object' && condition.value !== null ? lookUp(condition.value) : condition.value
    case 'not':
      return !isMet(condition.of, lookUp)
    case '&&':
      return isMet(condition.left, lookUp) && isMet(condition.right, lookUp)
    case '||':
      return isMet(condition.left, lookUp) || isMet(condition.right, lookUp)
    default: {
      const isSame = valueIn(condition.left, lookUp) === valueIn(condition.right, lookUp)
      return condition.kind === '==' ? isSame : !isSame
    }
  }
}

export function referencesOf(condition: Condition): Reference[] {
  if (condition.kind === 'value')
    return typeof condition.value === 'object' && condition.value !== null ? [condition.value] : []
  if (condition.kind === 'not') return referencesOf(condition.of)
  return [...referencesOf(condition.left), ...referencesOf(condition.right)]
}
