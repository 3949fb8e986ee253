import { z } from 'zod'
import { isRecord } from './isRecord.ts'

/** Where another system says what we call so: names of fields within fields, such as `pull_request.head.sha`. */
export type Places = Readonly<Record<string, string>>

/** Reads what another system says, in words of ours. What is at no place of its body is undefined to the schema. */
export function readAt<Schema extends z.ZodType>(places: Places, schema: Schema): z.ZodPreprocess<Schema> {
  const all = Object.entries(places).map(([name, place]) => [name, place.split('.')] as const)
  return z.preprocess((told) => Object.fromEntries(all.map(([name, path]) => [name, valueAt(told, path)])), schema)
}

function valueAt(told: unknown, path: readonly string[]): unknown {
  return path.reduce((at, name) => (isRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined), told)
}
