import { isRecord } from './isRecord.ts'
import { hasMoreValues } from './jsonValues.ts'

/** The value of a JSON text; undefined for any other text, because the parser's own message would quote the input. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The object that the text is; undefined for every other text. */
export function parsedObject(text: string): Record<string, unknown> | undefined {
  const value = parsedJson(text)
  return isRecord(value) ? value : undefined
}

/** Of an answer to one call: a page of fifty repositories has some 7,000. */
const VALUES_MAX = 20_000

/**
 * The value of what a server answers that is not ours; undefined for what is no JSON, and for more values than such an answer
 * has. A schema names everything that is wrong: of a megabyte of small values that takes a minute and gigabytes.
 */
export function modestJson(text: string): unknown {
  return hasMoreValues(text, VALUES_MAX) ? undefined : parsedJson(text)
}
