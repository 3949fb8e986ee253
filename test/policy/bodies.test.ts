import { expect } from 'chai'
import type { z } from 'zod'
import { SERVED_ROUTES } from '../../src/api/index.ts'

type Definition = {
  type: string
  checks?: readonly { _zod: { def: { check: string } } }[]
  innerType?: Schema
  element?: Schema
  valueType?: Schema
  options?: readonly Schema[]
  in?: Schema
  out?: Schema
}
type Schema = { def: Definition; shape?: Readonly<Record<string, Schema>> }

/** Returns the paths of lists in a schema that have no limit of items. */
function* unbounded(schema: Schema, path = '', seen = new Set<Schema>()): Generator<string> {
  if (seen.has(schema)) return
  seen.add(schema)
  const { type, checks = [], innerType, element, valueType, options = [], ...pipe } = schema.def
  const isBounded = checks.some(({ _zod }) => ['max_length', 'length_equals'].includes(_zod.def.check))
  if (type === 'array' && !isBounded) yield path
  for (const [name, field] of Object.entries(schema.shape ?? {})) yield* unbounded(field, `${path}.${name}`, seen)
  for (const inner of [innerType, element, valueType, pipe.in, pipe.out, ...options])
    if (inner !== undefined) yield* unbounded(inner, path, seen)
}

describe('request bodies', () => {
  it('limit the length of every list, because each wrong item becomes an issue', () => {
    const found = SERVED_ROUTES.flatMap(({ method, path, body }) =>
      body === undefined ? [] : [...unbounded(body as z.ZodType & Schema)].map((field) => `${method} ${path} ${field}`),
    )
    expect(found).to.deep.equal([])
  })
})
