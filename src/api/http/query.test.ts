import { expect } from 'chai'
import { SERVED_ROUTES } from '../index.ts'
import { documentedPaths, documentOf } from './openapi.ts'
import { parseQuery } from './query.ts'

type Parameter = { name: string; in: string; schema?: { type?: string; minimum?: number } }
type Document = { paths: Record<string, Record<string, { parameters?: Parameter[] }>> }

describe('integer query parameters', () => {
  const { paths } = documentOf('all', SERVED_ROUTES) as Document
  const pathOf = documentedPaths(SERVED_ROUTES)
  const documented = SERVED_ROUTES.flatMap((route) => {
    const { parameters = [] } = paths[pathOf(route)]?.[route.method.toLowerCase()] ?? {}
    const integers = parameters.filter((one) => one.in === 'query' && one.schema?.type === 'integer')
    return integers.map(({ name, schema = {} }) => ({ route, name, least: schema.minimum ?? 0 }))
  })

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
