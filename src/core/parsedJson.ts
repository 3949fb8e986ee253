import { isRecord } from './isRecord.ts'

/** What a JSON text holds; undefined for what is none, since the parser's own message would quote what it read. */
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
