import { expect } from 'chai'
import { z } from 'zod'
import { hiddenTags } from '../../../test/pages/markdown.ts'
import { ERROR_STATUS, type ErrorCode } from '../../core/errors.ts'
import { openApiDocument, SERVED_ROUTES, wholeOpenApiDocument } from '../index.ts'
import { DOCUMENTED_MODULES } from '../platform/documentation.ts'
import { filtersOf } from '../resources/paging.ts'
import { documentedPaths, documentOf } from './openapi.ts'
import { NEVER_NULL } from './openapiSchemas.ts'
import type { Route } from './route.ts'

type Schema = { $ref?: string; type?: string; properties?: Record<string, object>; additionalProperties?: unknown }
type ParameterSchema = { type?: string; enum?: string[]; items?: { pattern?: string } }
type Response = { $ref?: string; description?: string; content?: Record<string, unknown>; headers?: object }
type Operation = {
  operationId: string
  summary: string
  description: string
  security: object[]
  responses: Record<string, Response>
  parameters: { name: string; in: string; schema?: ParameterSchema }[]
  requestBody?: { content: Record<string, { schema: Schema }> }
}
type Document = {
  openapi: string
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema>; responses: Record<string, { content?: Record<string, unknown> }> }
}

/** Every text under that key anywhere in a document. */
function valuesOf(value: unknown, wanted: string): string[] {
  if (Array.isArray(value)) return value.flatMap((part) => valuesOf(part, wanted))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, part]) =>
    key === wanted && typeof part === 'string' ? [part] : valuesOf(part, wanted),
  )
}

/** A refusal with this status has the code of a 400. */
const NO_SUCH_RANGE = 416

/** @throws AssertionError unless the example is a refusal with this status in the form of its media type */
function requireForm(example: Record<string, unknown>, status: number, mediaType: string): void {
  expect(example, String(status)).to.include.keys('code', 'module', 'correlationId')
  expect(example, mediaType).to.have.property(mediaType.includes('problem') ? 'detail' : 'error')
  const code = String(example.code)
  const known = code in ERROR_STATUS ? code : code.toUpperCase().replaceAll('-', '_')
  expect(ERROR_STATUS[known as ErrorCode], code).to.equal(status === NO_SUCH_RANGE ? 400 : status)
}

describe('the OpenAPI document', () => {
  const whole = documentOf('all', SERVED_ROUTES) as Document
  const pathOf = documentedPaths(SERVED_ROUTES)
  const operationOf = (route: Route) => whole.paths[pathOf(route)]?.[route.method.toLowerCase()]
  const bodyOf = (route: Route) => {
    const { schema } = operationOf(route)?.requestBody?.content['application/json'] ?? {}
    return schema?.$ref === undefined ? schema : whole.components.schemas[schema.$ref.split('/').at(-1) ?? '']
  }

  it('declares a Location header for each 201', () => {
    for (const route of SERVED_ROUTES.filter(({ answers }) => answers.includes(201))) {
      const made = operationOf(route)?.responses['201']
      expect(made, `${route.method} ${route.path}`).to.have.nested.property('headers.Location.schema.type', 'string')
    }
  })

  it('names the required action of routes that check it at a scope outside of their path', () => {
    const descriptionOf = (method: string, path: string) => {
      const route = SERVED_ROUTES.find((each) => each.method === method && each.path === path)
      return route && operationOf(route)?.description
    }
    const internal = '/v1/internal/registries'
    const builders = [
      ...['GET', 'PUT', 'DELETE'].map((method) => descriptionOf(method, `${internal}/pins`)),
      descriptionOf('POST', `${internal}/mint-boundary-credential`),
    ]
    for (const text of builders) {
      expect(text).to.match(/^Needs the action `kernel\/deployments\/token` at the boundary that the request names\./)
    }
    expect(descriptionOf('POST', `${internal}/mint-build-token`)).to.match(/^Needs the action that writes the resource/)
  })

  it('says "Needs a sign-in." only of the 5 routes that need no action', () => {
    const isEnough = (path: string) => /^\/(docs|bug-reports|identity\/change-password|invitations\/accept)/.test(path)
    const routes = SERVED_ROUTES.filter(({ authorization }) => authorization.kind === 'authenticated')
    const described = routes.map((route) => [route, operationOf(route)?.description ?? ''] as const)
    const enough = described.filter(([, text]) => text.startsWith('Needs a sign-in.')).map(([{ path }]) => path)
    expect(enough).to.have.length(5)
    expect(enough.filter((path) => !isEnough(path))).to.deep.equal([])
    for (const [{ method, path }, text] of described) expect(text, `${method} ${path}`).to.match(/^Needs .+\./)
    const of = (path: string) => described.find(([route]) => route.path.endsWith(path))?.[1]
    expect(of('/vaults/{vaultName}/secrets/{name}')).to.include('`secretvault/readSecrets` at the vault')
    expect(of('/materialize')).to.include('`resourcegroups/write`')
    expect(of('/jitRequests')).to.include('`rbac/members/read`')
    expect(of('/admin/users')).to.include('`rbac/members/admin`')
  })

  it('says "shows only" of no write', () => {
    for (const route of SERVED_ROUTES.filter(({ method }) => method !== 'GET')) {
      expect(operationOf(route)?.description, `${route.method} ${route.path}`).not.to.include('shows only')
    }
  })

  const operations = Object.values(whole.paths).flatMap((methods) => Object.values(methods))

  it('has no text that Markdown would hide as an HTML tag', () => {
    const texts = ['description', 'summary'].flatMap((key) => valuesOf(whole, key))
    expect(texts.filter((text) => hiddenTags(text).length > 0)).to.deep.equal([])
  })

  it('has one operation per route, with both blueprint paths merged', () => {
    expect(whole.openapi).to.equal('3.1.0')
    // OpenAPI cannot distinguish the paths of a blueprint by id and by slug.
    const merged = SERVED_ROUTES.filter((route) => pathOf(route) !== route.path).map(({ path }) => path)
    expect(merged).to.deep.equal(['/boundaries/{boundaryId}/resources/blueprints/{slug}'])
    expect(operations).to.have.length(SERVED_ROUTES.length - merged.length)
  })

  it('declares the content of each GET, and the Location of each redirect', () => {
    for (const route of SERVED_ROUTES.filter(({ method }) => method === 'GET')) {
      const { responses } = operationOf(route) as Operation
      for (const [status, { content, headers, description }] of Object.entries(responses)) {
        const where = `${status} of GET ${route.path}`
        if (status.startsWith('2')) expect(Object.keys(content ?? {}), where).to.include(route.replyMediaType)
        if (status.startsWith('3'))
          expect([content, Object.keys(headers ?? {})], where).to.deep.equal([undefined, ['Location']])
        expect(description, where).to.not.match(/See the description/)
      }
    }
  })

  it('has unique operation ids without special characters', () => {
    const ids = operations.map(({ operationId }) => operationId)
    expect(new Set(ids).size).to.equal(ids.length)
    for (const id of ids) expect(id).to.match(/^[A-Za-z][A-Za-z0-9_-]*$/)
  })

  it('keeps the operation names of the interface', () => {
    const ids = new Set(operations.map(({ operationId }) => operationId))
    for (const { operation } of SERVED_ROUTES) {
      if (operation !== undefined && !operation.includes('{')) expect(ids.has(operation), operation).to.equal(true)
    }
  })

  const formsOf: [sentence: string, method: string, path: string, status: number, forms: string[]][] = [
    ['of the route only', 'POST', '/bug-reports', 422, ['problem+json']],
    ['of the route and of all routes', 'POST', '/bug-reports', 429, ['json', 'problem+json']],
    [
      'of a webhook delivery and of all routes',
      'POST',
      '/boundaries/{boundaryId}/sources/{sourceName}/webhooks',
      406,
      ['json', 'problem+json'],
    ],
    ['of all routes only', 'POST', '/boundaries/{boundaryId}/activity', 429, ['json']],
    ['sent before the route is called', 'POST', '/bug-reports', 401, ['json']],
  ]
  for (const [sentence, method, path, status, forms] of formsOf)
    it(`declares the media types of a refusal ${sentence}`, () => {
      const declared = whole.paths[path]?.[method.toLowerCase()]?.responses[status]
      const response =
        declared?.$ref === undefined ? declared : whole.components.responses[declared.$ref.split('/').at(-1) ?? '']
      expect(Object.keys(response?.content ?? {})).to.deep.equal(forms.map((form) => `application/${form}`))
    })

  it('declares the record and the refusal for the 503 of /readyz', () => {
    const { content } = whole.paths['/readyz']?.get?.responses['503'] ?? {}
    expect(content?.['application/json']).to.have.nested.property(
      'schema.$ref',
      '#/components/schemas/ReadinessDtoOrRefusal',
    )
    const union = whole.components.schemas.ReadinessDtoOrRefusal as { anyOf?: { $ref: string }[] }
    expect(union.anyOf?.map(({ $ref }) => $ref.split('/').at(-1))).to.deep.equal(['ReadinessDto', 'PlatformError'])
  })

  it('has no dangling $ref', () => {
    const names = (['schemas', 'responses'] as const).flatMap((part) =>
      Object.keys(whole.components[part]).map((name) => `#/components/${part}/${name}`),
    )
    const used = valuesOf(whole, '$ref')
    expect(used).to.not.be.empty
    for (const reference of new Set(used)) expect(names).to.include(reference)
  })

  it('contains nothing for the API server alone, and declares the items of sets as unique', () => {
    expect(JSON.stringify(whole)).to.not.contain('x-kubernetes-')
    const { acknowledgedFailures } = whole.components.schemas.CreateExecutionRequest?.properties ?? {}
    expect(acknowledgedFailures).to.have.nested.property('anyOf[0].uniqueItems', true)
    const nested = /^Patch\w+(ComponentsItem\.dependsOn|BackupPolicy\.volumes|TriggersItem\.methods)$/
    const sets = Object.entries(whole.components.schemas).flatMap(([record, { properties = {} }]) =>
      Object.entries(properties).filter(([name]) => nested.test(`${record.replace(/^(Post|Put)/, 'Patch')}.${name}`)),
    )
    expect(sets).to.have.length(3)
    for (const [name, set] of sets) expect(set, name).to.have.nested.property('anyOf[0].uniqueItems', true)
  })

  it('uses portable regular expressions only', () => {
    const patterns = new Set(valuesOf(whole, 'pattern'))
    expect(patterns.size).to.be.above(100)
    for (const pattern of patterns) {
      expect(pattern).to.not.match(/\\[pP]\{|\\u\{|\(\?[^:]/)
      expect(() => new RegExp(pattern)).to.not.throw()
    }
    expect([...patterns].filter((pattern) => pattern.includes('ssh:'))).to.have.length(1)
    for (const pattern of [...patterns].filter((one) => one.includes('ssh:')))
      expect(
        ['https://git.example/zip/pad.git', 'https://a b'].map((url) => new RegExp(pattern).test(url)),
      ).to.deep.equal([true, false])
  })

  it('declares If-Match and Range exactly where a route supports them', () => {
    const headersOf = (method: string, path: string) => {
      const route = SERVED_ROUTES.find((one) => one.method === method && one.path === path) as Route
      return operationOf(route)?.parameters.flatMap((one) => (one.in === 'header' ? [one.name] : []))
    }
    const item = '/boundaries/{boundaryId}/resourcegroups/{resourceGroupName}/resources/apps/{appName}'
    expect(headersOf('PUT', item.replace('appName', 'name'))).to.deep.equal(['If-Match'])
    expect(headersOf('GET', `${item}/files/download`)).to.deep.equal(['Range'])
    const group = '/boundaries/{boundaryId}/resourcegroups/{resourceGroupName}'
    const vector = `${group}/resources/vectorclusters/{name}`
    for (const path of [group, vector, `${vector}/scale`, '/clusters/{clusterId}/agent/revoke'])
      expect(headersOf('POST', path), path).to.deep.equal(['If-Match'])
    expect(headersOf('POST', '/boundaries')).to.deep.equal([])
    // These have no version.
    expect(headersOf('DELETE', `${item}/files`)).to.deep.equal([])
    expect(headersOf('PUT', `${item}/source`)).to.deep.equal([])
    expect(headersOf('DELETE', '/lifecycle/backups/{name}')).to.deep.equal([])
  })

  it('declares every path parameter in order', () => {
    for (const [path, methods] of Object.entries(whole.paths)) {
      const wanted = [...path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name)
      for (const { parameters } of Object.values(methods)) {
        expect(parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name)).to.deep.equal(wanted)
      }
    }
  })

  it('declares the pattern of the name in the path of a creation', () => {
    const named = SERVED_ROUTES.filter(({ naming }) => naming !== undefined)
    expect(named).to.have.length.above(10)
    for (const route of named) {
      const last = operationOf(route)?.parameters.findLast((parameter) => parameter.in === 'path')
      expect((last?.schema as { pattern?: string } | undefined)?.pattern, route.path).to.equal(route.naming?.pattern)
    }
  })

  it('has no two paths that differ only in parameter names', () => {
    const nameless = Object.keys(whole.paths).map((path) => path.replaceAll(/\{[^}]+\}/g, '{}'))
    expect(nameless).to.deep.equal([...new Set(nameless)])
  })

  for (const route of SERVED_ROUTES.filter(({ bodyKind }) => bodyKind === 'json')) {
    it(`declares the body of ${route.method} ${route.path}`, () => {
      const schemas = Object.values(operationOf(route)?.requestBody?.content ?? {}).map(({ schema }) => schema)
      expect(schemas).to.not.be.empty
      for (const schema of schemas) {
        const body = schema.$ref === undefined ? schema : whole.components.schemas[schema.$ref.split('/').at(-1) ?? '']
        if (body?.additionalProperties === false) continue
        expect(Object.keys(body?.properties ?? {}), JSON.stringify(body)).to.not.be.empty
      }
    })
  }

  for (const route of SERVED_ROUTES.filter(({ method }) => method === 'PATCH')) {
    const reply = route.reply
    // Records 1: a PATCH of a boundary accepts its display name only. The body of a row is no record.
    if (!(reply instanceof z.ZodObject) || route.path.includes('/editor/') || route.path.endsWith('/{boundaryId}'))
      continue
    it(`accepts the whole record in PATCH ${route.path}`, () => {
      const body = route.documentedBody ?? route.body
      expect(body).to.be.instanceOf(z.ZodObject)
      expect(Object.keys((body as z.ZodObject).shape)).to.include.members(Object.keys(reply.shape))
    })
  }

  for (const route of SERVED_ROUTES.filter(({ list }) => list !== undefined)) {
    it(`declares the sort fields and filters of GET ${route.path}`, () => {
      const schemaOf = (wanted: string) => operationOf(route)?.parameters.find(({ name }) => name === wanted)?.schema
      const [sort, filter] = [schemaOf('sort'), schemaOf('filter')]
      const fields = sort?.enum ?? []
      expect(fields).to.not.be.empty
      for (const field of fields) expect(fields).to.include(field.startsWith('-') ? field.slice(1) : `-${field}`)
      expect(filter?.type).to.equal('array')
      const pattern = new RegExp(filter?.items?.pattern ?? 'none')
      expect(pattern.test('noSuchField:eq:x')).to.equal(false)
      if (route.list?.tagsOf !== undefined) {
        expect(pattern.test('tags.team:lead:eq:x')).to.equal(true)
        for (const key of ['a'.repeat(129), 'a\tb', '']) expect(pattern.test(`tags.${key}:eq:x`), key).to.equal(false)
      }
      const filters = filtersOf(route.list as NonNullable<Route['list']>).filter((field) => !field.endsWith('*'))
      for (const field of filters) {
        expect(pattern.test(`${field}:exists:true`), field).to.equal(true)
        expect(pattern.test(`${field}:exists:x`), field).to.equal(false)
      }
    })
  }

  it('declares a field of a merge patch as non-nullable if the PUT requires it', () => {
    const patches = SERVED_ROUTES.filter(({ method, mediaTypes }) => method === 'PATCH' && mediaTypes.length > 1)
    const needed = patches.flatMap((route) => {
      const put = SERVED_ROUTES.find(({ method, path }) => method === 'PUT' && path === route.path)
      const { shape } = (put?.documentedBody ?? z.object({})) as z.ZodObject
      const patched = Object.entries(bodyOf(route)?.properties ?? {})
      return patched.filter(([name]) => shape[name]?.safeParse(undefined).success === false)
    })
    expect(needed.map(([name]) => name)).to.deep.equal(['components'])
    expect(JSON.stringify(needed[0])).to.not.contain('"null"')
  })

  it('declares optional fields of bodies as nullable', () => {
    const takesNull = ({ type, anyOf, readOnly, ...rest }: Record<string, unknown>): boolean =>
      readOnly === true ||
      [type].flat().includes('null') ||
      (anyOf as Record<string, unknown>[] | undefined)?.some(takesNull) === true ||
      (type === undefined && anyOf === undefined && rest.$ref === undefined)
    const operations = Object.values(whole.paths).flatMap((path) => Object.values(path))
    const bodies = operations.flatMap(({ operationId, requestBody }) =>
      Object.entries(requestBody?.content ?? {})
        // Forms cannot contain null.
        .filter(([mediaType]) => mediaType.endsWith('json'))
        .map(([, { schema }]) => ({ operationId, schema })),
    )
    const fields = bodies.flatMap(({ operationId, schema }) => {
      const body = schema.$ref === undefined ? schema : whole.components.schemas[schema.$ref.split('/').at(-1) ?? '']
      const { required = [], [NEVER_NULL]: kept = [] } = body as { required?: string[]; [NEVER_NULL]?: string[] }
      return Object.entries(body?.properties ?? {})
        .filter(([name]) => ![...required, ...kept].includes(name))
        .map(([name, field]) => ({ name: `${operationId}: ${name}`, isRight: takesNull({ ...field }) }))
    })
    expect(fields).to.have.length.above(500)
    expect(fields.filter(({ isRight }) => !isRight).map(({ name }) => name)).to.deep.equal([])
  })

  it('declares the replica range of Scale operations', () => {
    const scales = SERVED_ROUTES.filter(({ operation }) => /^Scale/.test(operation ?? ''))
    const bounds = scales.map((route) => {
      const { properties } = bodyOf(route) ?? {}
      const { minimum, maximum } = (properties?.targetScale ?? {}) as { minimum?: number; maximum?: number }
      return [route.operation, minimum, maximum]
    })
    expect(bounds).to.deep.include(['ScaleVectorCluster', 0, 99]).and.deep.include(['ScaleStaticWebApp', 0, 10])
  })

  it('declares Basic authentication for GET /registry/auth/token only', () => {
    const basic = SERVED_ROUTES.filter((route) => operationOf(route)?.security.some((each) => 'basic' in each))
    expect(basic.map(({ method, path }) => `${method} ${path}`)).to.deep.equal(['GET /registry/auth/token'])
    expect(whole.components).to.have.nested.property('securitySchemes.basic.scheme', 'basic')
  })

  it('requires a bearer token on all routes but anonymous ones', () => {
    for (const route of SERVED_ROUTES) {
      const operation = operationOf(route)
      const asksForToken = operation?.security.some((each) => 'bearer' in each)
      expect(asksForToken, route.path).to.equal(route.authorization.kind !== 'anonymous')
      if (route.authorization.kind !== 'anonymous') expect(operation?.responses, route.path).to.have.property('401')
    }
  })

  it('exists for each documented module', () => {
    for (const module of Object.keys(DOCUMENTED_MODULES)) expect(openApiDocument(module), module).to.be.an('object')
    expect(openApiDocument('none')).to.equal(undefined)
  })

  const shown = SERVED_ROUTES.filter(({ example }) => example !== undefined)

  it('has an example for the creation of each resource kind and a boundary', () => {
    const isCreation = ({ method, path }: Route) => method === 'POST' && /\/resources\/[a-z]+\/\{\w+\}$/.test(path)
    const created = SERVED_ROUTES.filter((route) => isCreation(route) && route.bodyKind === 'json')
    expect(created.filter(({ example }) => example === undefined).map(({ path }) => path)).to.deep.equal([])
    expect(shown.map(({ path }) => path)).to.include('/boundaries')
  })

  for (const route of shown) {
    it(`has a valid example for ${route.method} ${route.path}`, () => {
      const { success, error } = (route.documentedBody ?? route.body ?? z.never()).safeParse(route.example)
      expect(success, String(error)).to.equal(true)
      const content = operationOf(route)?.requestBody?.content['application/json']
      expect(content).to.have.property('example', route.example)
    })
  }

  it('has an example for each refusal, in the form of its media type', () => {
    for (const { responses } of operations) {
      for (const [status, reference] of Object.entries(responses).filter(([code]) => code >= '400')) {
        const { content = {} } = whole.components.responses[reference.$ref?.split('/').at(-1) ?? ''] ?? reference
        expect(content, status).to.not.be.empty
        for (const [mediaType, shape] of Object.entries(content)) {
          requireForm((shape as { example: Record<string, unknown> }).example, Number(status), mediaType)
        }
      }
    }
  })

  it('describes each tag', () => {
    const { tags } = wholeOpenApiDocument() as { tags: { name: string; description: string }[] }
    const described = new Map(tags.map(({ name, description }) => [name, description]))
    for (const { area } of SERVED_ROUTES) expect(described.get(area), area).to.match(/\S/)
    expect(described.get('vector')).to.equal('Vector databases')
  })

  it('contains all fields of VectorClusterDto', () => {
    const properties = whole.components.schemas.VectorClusterDto?.properties ?? {}
    expect(Object.keys(properties)).to.include.members(['id', 'computePlan', 'vectorVersion', 'readyReplicas', 'tags'])
  })
})
