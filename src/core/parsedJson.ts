import { isRecord } from './isRecord.ts'

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
