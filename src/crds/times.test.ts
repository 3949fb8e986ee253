import { expect } from 'chai'
import { KINDS } from './index.ts'
import { rootSchema } from './manifest.ts'
import type { StructuralSchema } from './structural.ts'

/** Names that end like a time, of fields that have none. */
const NOT_TIMES = ['BlueprintSource.status.readAt']

/** The paths of all texts of a schema whose name says that they are times. */
function timesOf({ type, format, properties, items, additionalProperties }: StructuralSchema, path: string): string[] {
  const own =
    type === 'string' && /([aA]t|Time|Utc|[sS]ince|[uU]ntil|notBefore|notAfter|expiresOn)(\[\]|\{\})?$/.test(path)
      ? [`${path}: ${format ?? 'text'}`]
      : []
  const fields = Object.entries((properties ?? {}) as Record<string, StructuralSchema>)
  return [
    ...own,
    ...fields.flatMap(([name, field]) => timesOf(field, `${path}.${name}`)),
    ...(items === undefined ? [] : timesOf(items as StructuralSchema, `${path}[]`)),
    ...(additionalProperties === undefined ? [] : timesOf(additionalProperties as StructuralSchema, `${path}{}`)),
  ]
}

describe('times in specs and statuses', () => {
  const times = KINDS.flatMap((kind) => timesOf(rootSchema(kind), kind.kind))

  it('are declared as date-time', () => {
    expect(times).to.have.length.above(150)
    const others = times.filter((time) => !time.endsWith(': date-time'))
    expect(others).to.deep.equal(NOT_TIMES.map((path) => `${path}: text`))
  })
})
