import type { FieldError } from '../../core/errors.ts'
import { suggestion } from '../../core/suggestion.ts'
import type { Scalar } from './expressions.ts'
import { type BlueprintParameter, isSecretParameter, type Template } from './template.ts'

const VALUE_MAX = 4096
/**
 * A pattern is tried on a text of a caller, by an engine that tries every way to match: with so few choices, and none within
 * another, there are at most some hundred thousand ways.
 */
const MATCHED_MAX = 128
const CHOICES_MAX = 3
const GENERATED_LENGTH = 24

/** Why a pattern is not taken; undefined if it is. */
export function patternRefusal(pattern: string): string | undefined {
  const withoutClasses = pattern.replaceAll(/\\./g, 'x').replaceAll(/\[[^\]]*\]/g, 'x')
  if (/\((\?(?!:))|\\[1-9k]/.test(pattern.replaceAll('\\\\', ''))) return 'must not look around or refer back'
  if (/\)[*+?{]/.test(withoutClasses)) return 'must not repeat a group'
  if (choicesOf(withoutClasses) > CHOICES_MAX)
    return `must not have more than ${CHOICES_MAX} parts that are optional, repeated or alternatives`
  try {
    wholePattern(pattern)
    return undefined
  } catch {
    return 'must be a regular expression'
  }
}

/** Where the engine may go more than one way. A part that is repeated so many times exactly is none. */
function choicesOf(pattern: string): number {
  const bare = pattern.replaceAll('(?:', '(')
  const repeated = bare.match(/[*+?]|\{[0-9]+,[0-9]*\}/g)?.length ?? 0
  return repeated + (bare.includes('|') ? 1 + (bare.match(/\(/g)?.length ?? 0) : 0)
}

const wholePattern = (pattern: string) => new RegExp(`^(?:${pattern})$`, 'u')

/** A value by its parameter's type, or why it is none. The reason never repeats the value. */
export function readParameter(parameter: BlueprintParameter, given: Scalar): { value: Scalar } | { refusal: string } {
  const refuse = (refusal: string) => ({ refusal })
  switch (parameter.type) {
    case 'boolean':
      if (typeof given === 'boolean') return { value: given }
      return given === 'true' || given === 'false' ? { value: given === 'true' } : refuse('must be true or false')
    case 'integer':
    case 'number':
      return readNumber(parameter, given)
    case 'choice':
      if (parameter.choices?.includes(String(given)) === true) return { value: String(given) }
      return refuse(`must be one of ${parameter.choices?.join(', ')}`)
    case 'generated':
      return refuse('is made by the platform')
    default:
      return readString(parameter, given)
  }
}

function readNumber({ type, minimum, maximum }: BlueprintParameter, given: Scalar) {
  const isText = typeof given === 'string' && /^-?[0-9]{1,15}(\.[0-9]{1,15})?$/.test(given)
  const value = typeof given === 'number' ? given : isText ? Number(given) : Number.NaN
  if (!Number.isFinite(value)) return { refusal: 'must be a number' }
  if (type === 'integer' && !Number.isSafeInteger(value)) return { refusal: 'must be an integer' }
  if (minimum !== undefined && value < minimum) return { refusal: `must be at least ${minimum}` }
  return maximum !== undefined && value > maximum ? { refusal: `must be at most ${maximum}` } : { value }
}

function readString({ pattern, minLength = 0, maxLength = VALUE_MAX }: BlueprintParameter, given: Scalar) {
  if (typeof given !== 'string') return { refusal: 'must be a string' }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
  if (/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/.test(given)) return { refusal: 'must have no control characters' }
  if (given.length < minLength) return { refusal: `must have at least ${minLength} characters` }
  if (given.length > maxLength) return { refusal: `must have at most ${maxLength} characters` }
  if (pattern === undefined) return { value: given }
  if (given.length > MATCHED_MAX) return { refusal: `must have at most ${MATCHED_MAX} characters` }
  return wholePattern(pattern).test(given)
    ? { value: given }
    : { refusal: 'does not have the form that the template requires' }
}

export type ParameterValues = {
  /** What expressions of the template see; secrets are not among them. */
  readonly plain: Readonly<Record<string, Scalar>>
  readonly secret: Readonly<Record<string, string>>
  readonly errors: readonly FieldError[]
}

/**
 * The values of a deployment (records: blueprints, deploy).
 *
 * @param generate a random text of so many characters
 */
export function readParameters(
  { parameters }: Pick<Template, 'parameters'>,
  given: Readonly<Record<string, string>>,
  generate: (length: number) => string,
): ParameterValues {
  const errors: FieldError[] = []
  const plain: Record<string, Scalar> = {}
  const secret: Record<string, string> = {}
  const known = new Set(parameters.map(({ name }) => name))
  for (const name of Object.keys(given))
    if (!known.has(name))
      errors.push({
        field: `parameters.${name.slice(0, 64)}`,
        message: `is not a parameter of this blueprint${suggestion(name, known)}`,
      })
  for (const parameter of parameters) {
    const { name, type, length = GENERATED_LENGTH } = parameter
    const value = Object.hasOwn(given, name) ? given[name] : parameter.default
    if (value === undefined && type === 'generated') secret[name] = generate(length)
    else if (value === undefined) errors.push({ field: `parameters.${name}`, message: 'is required' })
    else {
      const read = readParameter(parameter, value)
      if ('refusal' in read) errors.push({ field: `parameters.${name}`, message: read.refusal })
      else if (isSecretParameter(parameter)) secret[name] = String(read.value)
      else plain[name] = read.value
    }
  }
  return { plain, secret, errors }
}

/** As records show them. */
export function maskedParameters({ plain, secret }: Pick<ParameterValues, 'plain' | 'secret'>): Record<string, string> {
  const shown = Object.entries(plain).map(([name, value]) => [name, String(value)])
  return Object.fromEntries([...shown, ...Object.keys(secret).map((name) => [name, '***'])]) as Record<string, string>
}
