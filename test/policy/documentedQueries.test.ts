import { expect } from 'chai'
import { documentedPaths, documentOf } from '../../src/api/http/openapi.ts'
import { parseQuery } from '../../src/api/http/query.ts'
import type { Route } from '../../src/api/http/route.ts'
import { SERVED_ROUTES } from '../../src/api/index.ts'
import { PlatformError } from '../../src/core/errors.ts'
import { type DocumentedSchema, isDocumented, type Schemas } from '../make/documented.ts'
import { triedValues } from '../make/wrongValues.ts'

type Parameter = { name: string; in: string; schema: DocumentedSchema }
type Document = {
  paths: Record<string, Record<string, { parameters?: Parameter[] }>>
  components: { schemas: Schemas }
}

const WORDS = ['0', '1', '-1', '1.5', '1e3', '501', '99999999999999999999', 'true', 'false', 'yes', '+1', '0x10']

/** Texts to try, among them the bounds and the values beside them. */
function textsFor({ enum: choices = [], minimum, maximum, ...others }: DocumentedSchema): string[] {
  const texts = triedValues({ ...others, type: 'string' } as never).filter((value) => typeof value === 'string')
  const bounds = [minimum, maximum].flatMap((bound) => (bound === undefined ? [] : [bound - 1, bound, bound + 1]))
  return [...texts, ...WORDS, ...choices.map(String), ...bounds.map(String)]
}

/** What a client means by a text, which its generated code writes without leading zeros and in lower case. */
function meant(text: string, { type }: DocumentedSchema): unknown {
  if (type === 'integer') return /^-?(0|[1-9][0-9]*)$/.test(text) ? Number(text) : text
  return type === 'boolean' && /^(true|false)$/.test(text) ? text === 'true' : text
}

/** Whether the platform refuses this parameter, whatever else the query lacks. */
function isRefused(route: Route, name: string, text: string): boolean {
  try {
    parseQuery(route, new URLSearchParams({ [name]: text }).toString())
    return false
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    const { parameter, errors = [] } = error.extras as { parameter?: string; errors?: { field: string }[] }
    return parameter === name || errors.some(({ field }) => field === name)
  }
}

describe('the documents of queries', () => {
  const { paths, components } = documentOf('all', SERVED_ROUTES) as Document
  const pathOf = documentedPaths(SERVED_ROUTES)
  for (const route of SERVED_ROUTES) {
    const { parameters = [] } = paths[pathOf(route)]?.[route.method.toLowerCase()] ?? {}
    const asked = parameters.filter((parameter) => parameter.in === 'query')
    if (asked.length === 0) continue
    it(`accept no value that ${route.method} ${route.path} refuses`, () => {
      const slips = asked.flatMap(({ name, schema }) => {
        const value = schema.items ?? schema
        const accepted = textsFor(value).filter((text) => isDocumented(meant(text, value), value, components.schemas))
        return accepted.filter((text) => isRefused(route, name, text)).map((text) => `${name}=${text}`)
      })
      expect(slips).to.deep.equal([])
    })
  }
})
