import type { z } from 'zod'
import { pluralize } from './pluralize.ts'

type Issue = z.core.$ZodIssue

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
  null: 'null',
}
const FORMATS: Readonly<Record<string, string>> = {
  uuid: 'must be a uuid',
  guid: 'must be a uuid',
  datetime: 'must be a date and time with its zone, such as 2026-01-31T12:00:00Z',
  date: 'must be a date, such as 2026-01-31',
  base64: 'must be base64',
  email: 'must be an e-mail address',
  url: 'must be a URL',
}

const typeOf = (expected: string) => TYPES[expected] ?? `of type ${expected}`
/** Zod's own messages show internals, such as regular expressions; the messages of a schema are written for people. */
const customMessage = (issue: Issue) =>
  /^(Invalid|Too|Unrecognized)\b/.test(issue.message) ? undefined : issue.message

/** Drops zod's bounds for safe integers if the field has a bound of its own. */
export function withoutWiderBounds(issues: readonly Issue[]): Issue[] {
  const at = ({ path, code }: Issue) => JSON.stringify([path, code])
  const isWide = (issue: Issue) => (issue.code === 'too_big' || issue.code === 'too_small') && issue.origin === 'int'
  const bounded = new Set(issues.filter((issue) => !isWide(issue)).map(at))
  return issues.filter((issue) => !isWide(issue) || !bounded.has(at(issue)))
}

/** Why a value is refused, in words for people that never repeat the input, as it may hold a secret. */
export function describeIssue(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return `is required (${typeOf(issue.expected)})`
      return customMessage(issue) ?? `must be ${typeOf(issue.expected)}`
    case 'invalid_value': {
      const choice = issue.values.length === 1 ? String(issue.values[0]) : `one of ${issue.values.join(', ')}`
      return issue.input === undefined ? `is required (${choice})` : `must be ${choice}`
    }
    case 'too_big':
      return customMessage(issue) ?? `must ${describeBound(issue.origin, 'at most', issue.maximum)}`
    case 'too_small':
      if (issue.origin === 'string' && Number(issue.minimum) === 1) return 'must not be empty'
      return customMessage(issue) ?? `must ${describeBound(issue.origin, 'at least', issue.minimum)}`
    case 'invalid_format':
      return customMessage(issue) ?? FORMATS[issue.format] ?? 'does not have the required form'
    case 'invalid_key':
      return `has a name that ${issue.issues.map(describeIssue)[0] ?? 'is not allowed'}`
    case 'invalid_union':
      return unionOf(issue.errors)
    default:
      return customMessage(issue) ?? 'is not allowed'
  }
}

function describeBound(origin: string, bound: 'at most' | 'at least', limit: number | bigint): string {
  if (origin === 'string') return `have ${bound} ${pluralize(Number(limit), 'character')}`
  if (origin === 'array' || origin === 'set') return `have ${bound} ${pluralize(Number(limit), 'item')}`
  return `be ${bound} ${limit}`
}

/** Says what the closest variant lacks, otherwise lists the types of all variants. */
function unionOf(forms: readonly (readonly Issue[])[]): string {
  const types = forms.flatMap(([first]) =>
    first?.code === 'invalid_type' && first.path.length === 0 ? [typeOf(first.expected)] : [],
  )
  const near = forms.find(([first]) => first !== undefined && (first.code !== 'invalid_type' || first.path.length > 0))
  if (near?.[0] !== undefined) return describeIssue(near[0])
  return types.length === 0 ? 'does not have one of the accepted forms' : `must be ${[...new Set(types)].join(' or ')}`
}
