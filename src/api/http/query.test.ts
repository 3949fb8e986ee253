import { expect } from 'chai'
import type { FieldError, PlatformError } from '../../core/errors.ts'
import { SERVED_ROUTES } from '../index.ts'
import { documentedPaths, documentOf } from './openapi.ts'
import { parseQuery } from './query.ts'
import type { Route } from './route.ts'

type Parameter = { name: string; in: string; schema?: { type?: string; minimum?: number; maxItems?: number } }
type Document = { paths: Record<string, Record<string, { parameters?: Parameter[] }>> }

const { paths } = documentOf('all', SERVED_ROUTES) as Document
const pathOf = documentedPaths(SERVED_ROUTES)

/** The documented query parameters of this type, of all routes. */
const documentedOf = (type: string) =>
  SERVED_ROUTES.flatMap((route) => {
    const { parameters = [] } = paths[pathOf(route)]?.[route.method.toLowerCase()] ?? {}
    const found = parameters.filter((one) => one.in === 'query' && one.schema?.type === type)
    return found.map(({ name, schema = {} }) => ({ route, name, schema }))
  })

/** The parameters that are refused. */
function refusedIn(route: Route, query: string): string[] {
  try {
    parseQuery(route, query)
    return []
  } catch (error) {
    const { errors } = (error as PlatformError).extras as { errors: FieldError[] }
    return errors.map(({ field }) => field)
  }
}

describe('repeatable query parameters', () => {
  it('may be given as often as documented', () => {
    const repeatable = documentedOf('array')
    expect(repeatable.map(({ name }) => name)).to.include.members(['filter', 'claim', 'scope'])
    for (const { route, name, schema } of repeatable) {
      const { maxItems = Number.POSITIVE_INFINITY } = schema
      expect(maxItems, `${route.path} ${name}`).to.be.at.most(100)
      const text = Array(maxItems).fill(`${name}=x`).join('&')
      expect(() => parseQuery(route, text), `${route.path} ${name}`).not.to.throw(/more than|at most/)
    }
  })
})

describe('text query parameters', () => {
  it('are refused when they are empty, which would not narrow anything', () => {
    const texts = [...documentedOf('string'), ...documentedOf('array')].filter(
      ({ route }) => !route.ignoresUnknownQuery,
    )
    expect(texts.map(({ name }) => name)).to.include.members(['search', 'claim', 'resourceGroup', 'repository'])
    for (const { route, name } of texts) {
      expect(refusedIn(route, `${name}=`), `${route.method} ${route.path}`).to.include(name)
    }
  })
})

describe('integer query parameters', () => {
  const documented = documentedOf('integer').map((one) => ({ ...one, least: one.schema.minimum ?? 0 }))

  it('include those of lists, logs and metrics', () => {
    expect(documented.map(({ name }) => name)).to.include.members(['page', 'pageSize', 'tail', 'limit', 'stepSeconds'])
  })

  it('accept their documented minimum', () => {
    for (const { route, name, least } of documented)
      expect(() => parseQuery(route, `${name}=${least}`), `${route.path} ${name}`).not.to.throw(` ${name} `)
  })

  for (const text of ['1e3', '0x10', '+20', '%2020', '20.0', '', 'twenty', 'Infinity', '9007199254740993'])
    it(`reject ${JSON.stringify(text)}`, () => {
      for (const { route, name } of documented)
        expect(() => parseQuery(route, `${name}=${text}`), `${route.path} ${name}`).to.throw(name)
    })
})
