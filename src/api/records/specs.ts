import { PlatformError, refusalSentence, refusedFields } from '../../core/errors.ts'
import { datesInUtc } from '../../crds/dates.ts'
import { type AnyKind, type BrokenRule, brokenRules } from '../../crds/define.ts'
import { hiddenTexts } from '../../crds/hiddenTexts.ts'
import { isKept, readChanged } from './readChanged.ts'

/**
 * Returns the spec with its defaults, validated against the schema and the rules of its kind, so that a refused write
 * makes no call and is refused in the same words as by the API server.
 *
 * @throws PlatformError BAD_REQUEST or the code of the first rule that is broken
 */
export function checkSpec(kind: AnyKind, spec: object, previous: object | undefined): object {
  const next = readSpec(kind, spec, previous)
  const isChanged = (path: readonly PropertyKey[]) => !isKept(kind.spec, path, next, previous)
  const hidden = hiddenTexts(kind.spec, next).filter(({ path }) => isChanged(path))
  if (hidden.length > 0) throw refusedFields(hidden.map(({ path, message }) => ({ field: path.join('.'), message })))
  const broken = brokenRules<unknown>(kind as never, next, previous)
  const [first] = broken
  if (first === undefined) return next
  throw first.code === 'BAD_REQUEST'
    ? refusedFields(broken.map(({ field, message }) => ({ field, message })))
    : ruleViolation(kind, first, next)
}

/** Returns the spec with its defaults and dates in UTC. @throws PlatformError BAD_REQUEST for invalid changed values */
export function readSpec(kind: AnyKind, spec: object, previous: object | undefined): object {
  return datesInUtc(kind.spec)(readChanged(kind.spec, withoutAbsent(spec), previous), previous) as object
}

/** Removes null at any depth: as in the API server, it means absence. */
export function withoutAbsent(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutAbsent)
  if (typeof value !== 'object' || value === null) return value
  const present = Object.entries(value).filter(([, part]) => part !== undefined && part !== null)
  return Object.fromEntries(present.map(([name, part]) => [name, withoutAbsent(part)]))
}

function ruleViolation(kind: AnyKind, { code, field, message }: BrokenRule, next: object): PlatformError {
  const value = (next as Record<string, unknown>)[field] ?? null
  const policy = `${kind.plural}.${kind.resource.group}`
  const extras = code === 'RULE_VIOLATION' ? { policy, errors: [{ field, message }] } : { field, value }
  return new PlatformError(code, refusalSentence({ field, message }), extras)
}
