import { escapedPart } from '../../core/jsonPointer.ts'
import { sha256 } from '../../core/names.ts'
import { MASK, redacted } from '../../core/redaction.ts'
import type { Change, Scalar } from './port.ts'

/** A flattened spec, keyed by JSON pointer (RFC 6901). Secrets are stored as digests, to show that they changed. */
export type Flat = Readonly<Record<string, Scalar>>

/** Fields below which users may write anything, including secrets: only `name` is shown there. */
const FREE_FORM = new Set(['env', 'args', 'command', 'parameters', 'headers', 'content', 'value', 'data', 'envelope'])
const SECRET = /pass(word|wd|phrase)|secret|token|credential|api-?key|private-?key|connection-?string|license|cipher/i
const SHOWN_LENGTH_MAX = 200
const NAME_LENGTH_MAX = 128
/** A spec with more fields is not compared. */
const FIELDS_MAX = 1_000
const CHANGES_MAX = 100

/** @returns undefined for a spec with too many fields */
export function flatten(spec: object, salt: string): Flat | undefined {
  const flat: Record<string, Scalar> = {}
  let count = 0
  const visit = (value: unknown, pointer: string, isHidden: boolean): void => {
    if (typeof value === 'object' && value !== null) {
      for (const [key, part] of Object.entries(value)) {
        const isName = isHidden && key === 'name'
        visit(
          part,
          `${pointer}/${escapedPart(key.slice(0, NAME_LENGTH_MAX))}`,
          !isName && (isHidden || FREE_FORM.has(key) || SECRET.test(key)),
        )
      }
      return
    }
    count += 1
    if (count <= FIELDS_MAX) flat[pointer] = toScalar(value, isHidden, salt)
  }
  visit(spec, '', false)
  return count > FIELDS_MAX ? undefined : flat
}

function toScalar(value: unknown, isHidden: boolean, salt: string): Scalar {
  if (typeof value === 'boolean' || value === null || value === undefined) return value ?? null
  const digest = () => sha256(`${salt}${value}`).slice(0, 16)
  if (isHidden) return `${MASK}${digest()}`
  if (typeof value === 'number') return value
  const text = String(value)
  if (redacted(text) !== text) return `${MASK}${digest()}`
  return text.length <= SHOWN_LENGTH_MAX ? text : `${text.slice(0, SHOWN_LENGTH_MAX)}… (${digest()})`
}

/**
 * Returns the differing fields in spec order, at most CHANGES_MAX; none if either state is unknown. A changed secret is
 * shown as `***` to `***`.
 */
export function changesBetween(before: Flat | undefined, after: Flat | undefined): Change[] {
  if (before === undefined || after === undefined) return []
  const pointers = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const differing = pointers.filter((path) => before[path] !== after[path])
  return differing.slice(0, CHANGES_MAX).map((path) => ({ path, from: shown(before[path]), to: shown(after[path]) }))
}

function shown(value: Scalar | undefined): Scalar {
  return typeof value === 'string' && value.startsWith(MASK) ? MASK : (value ?? null)
}
