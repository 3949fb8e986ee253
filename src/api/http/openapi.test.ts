import { expect } from 'chai'
import { openApiDocument, SERVED_ROUTES } from '../index.ts'
import { DOCUMENTED_MODULES } from '../platform/documentation.ts'
import { documentOf } from './openapi.ts'

type Operation = {
  operationId: string
  summary: string
  security: object[]
  responses: Record<string, { content?: Record<string, unknown> }>
  parameters: { name: string; in: string }[]
}
type Document = {
  openapi: string
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, { properties?: Record<string, object> }> }
}

/** Every `$ref` anywhere in a document. */
function references(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(references)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, part]) => (key === '$ref' ? [String(part)] : references(part)))
}

describe('the OpenAPI documents', () => {
  const whole = documentOf('all', SERVED_ROUTES) as Document
  const operations = Object.values(whole.paths).flatMap((methods) => Object.values(methods))

  it('describe every route once', () => {
    expect(whole.openapi).to.equal('3.1.0')
    expect(operations).to.have.length(SERVED_ROUTES.length)
  })

  it('have unique operation ids that are words', () => {
    const ids = operations.map(({ operationId }) => operationId)
    expect(new Set(ids).size).to.equal(ids.length)
    for (const id of ids) expect(id).to.match(/^[A-Za-z][A-Za-z0-9_-]*$/)
  })

  it('keep the operation names of the interface', () => {
    const ids = new Set(operations.map(({ operationId }) => operationId))
    for (const { operation } of SERVED_ROUTES) {
      if (operation !== undefined && !operation.includes('{')) expect(ids.has(operation), operation).to.equal(true)
    }
  })

  it('refer to nothing that is not there', () => {
    const names = Object.keys(whole.components.schemas).map((name) => `#/components/schemas/${name}`)
    const used = references(whole)
    expect(used).to.not.be.empty
    for (const reference of new Set(used)) expect(names).to.include(reference)
  })

  it('name every parameter of a path', () => {
    for (const [path, methods] of Object.entries(whole.paths)) {
      const wanted = [...path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name)
      for (const { parameters } of Object.values(methods)) {
        expect(parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name)).to.deep.equal(wanted)
      }
    }
  })

  it('ask for no token only if none is needed', () => {
    for (const route of SERVED_ROUTES) {
      const operation = whole.paths[route.path]?.[route.method.toLowerCase()]
      expect(operation?.security.length === 0, route.path).to.equal(route.authorization.kind === 'anonymous')
      if (route.authorization.kind !== 'anonymous') expect(operation?.responses, route.path).to.have.property('401')
    }
  })

  it('are there for every module that has documents', () => {
    for (const module of Object.keys(DOCUMENTED_MODULES)) expect(openApiDocument(module), module).to.be.an('object')
    expect(openApiDocument('none')).to.equal(undefined)
  })

  it('show a record whole', () => {
    const properties = whole.components.schemas.VectorClusterDto?.properties ?? {}
    expect(Object.keys(properties)).to.include.members(['id', 'computePlan', 'vectorVersion', 'readyReplicas', 'tags'])
  })
})
