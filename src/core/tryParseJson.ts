import { isRecord } from './isRecord.ts'
import { hasMoreValues } from './jsonValues.ts'

/** Parses a JSON text; undefined for any other text, because the parser's own message would quote the input. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns the value of a JSON text that is an object; undefined for any other text. */
export function tryParseJsonObject(text: string): Record<string, unknown> | undefined {
  const value = tryParseJson(text)
  return isRecord(value) ? value : undefined
}

/** The most values in the response to one call; a page of fifty repositories has some 7,000. */
const VALUES_MAX = 20_000

/**
 * Parses a response of an external server; undefined if it is not JSON or has more values than such responses have. A
 * schema reports every error: for a megabyte of small values that takes a minute and gigabytes.
 */
export function parseForeignJson(text: string): unknown {
  return hasMoreValues(text, VALUES_MAX) ? undefined : tryParseJson(text)
}
