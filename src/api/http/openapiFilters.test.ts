import { expect } from 'chai'
import { SERVED_ROUTES } from '../index.ts'
import { documentOf } from './openapi.ts'

/** A right and a wrong value, by the type of the field. */
const VALUES: Readonly<Record<string, readonly [right: string, wrong: string]>> = {
  number: ['-12.5', '1e3'],
  dateTime: ['2026-02-28T23:59:59.5+02:00', '2026-02-28'],
  boolean: ['true', 'truely'],
  quantity: ['1.5Gi', '1.5 Gi'],
}

type Parameter = { name: string; schema: { items?: { pattern: string } } }
type Field = { type?: string; values?: readonly string[]; isFiltered?: boolean }

/** What the pattern says of a field's filters that differs from what the platform does. */
function slipsOf(
  pattern: RegExp,
  field: string,
  [right, wrong]: readonly [string, string],
  hasList: boolean,
): string[] {
  const valid = [`eq:${right}`, ...(hasList ? [`in:${right}`, `in:${right},${right}`] : [])]
  const invalid = [`eq:${wrong}`, `eq:${right},${right}`, `in:${right},`, `in:${right},${wrong}`]
  return [
    ...valid.filter((rest) => !pattern.test(`${field}:${rest}`)),
    ...invalid.filter((rest) => pattern.test(`${field}:${rest}`)),
  ].map((rest) => `${field}:${rest}`)
}

describe('filters in the OpenAPI document', () => {
  const { paths } = documentOf('all', SERVED_ROUTES) as { paths: Record<string, { get?: { parameters: Parameter[] } }> }

  for (const { path, list } of SERVED_ROUTES.filter((route) => route.list !== undefined)) {
    it(`of GET ${path} have the values of their fields`, () => {
      const { schema } = paths[path]?.get?.parameters.find(({ name }) => name === 'filter') ?? {}
      const pattern = new RegExp(schema?.items?.pattern ?? 'none')
      const fields = Object.entries((list?.fields ?? {}) as Readonly<Record<string, Field>>)
      const slips = fields.flatMap(([field, { type = 'text', values, isFiltered }]) => {
        const samples = values === undefined ? VALUES[type] : ([values[0] ?? '', `${values[0]}x`] as const)
        const isAny = samples === undefined || isFiltered === false
        return isAny ? [] : slipsOf(pattern, field, samples, type !== 'boolean')
      })
      expect(slips).to.deep.equal([])
    })
  }
})
