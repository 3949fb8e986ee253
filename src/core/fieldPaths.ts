import { z } from 'zod'
import { isRecord } from './isRecord.ts'

/** By our name, the dotted path of a field in another system's body, such as `pull_request.head.sha`. */
export type FieldPaths = Readonly<Record<string, string>>

/** Reads another system's body under our names. A field that is absent there is undefined to the schema. */
export function withFieldPaths<Schema extends z.ZodType>(places: FieldPaths, schema: Schema): z.ZodPreprocess<Schema> {
  const all = Object.entries(places).map(([name, place]) => [name, place.split('.')] as const)
  return z.preprocess((body) => Object.fromEntries(all.map(([name, path]) => [name, valueAt(body, path)])), schema)
}

function valueAt(body: unknown, path: readonly string[]): unknown {
  return path.reduce((at, name) => (isRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined), body)
}
