import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { z } from 'zod'
import { METHODS, type Route } from '../../src/api/http/route.ts'
import { Router } from '../../src/api/http/router.ts'
import { templateSegments } from '../../src/api/http/template.ts'
import { ADDITIONS, AREAS, ROUTES, reservedNames, SERVED_ROUTES } from '../../src/api/index.ts'
import { DOCUMENTED_MODULES } from '../../src/api/platform/documentation.ts'
import { findAction } from '../../src/core/actions.ts'

type Row = {
  area: string
  method: string
  path: string
  auth: string
  action?: string
  dataAction?: boolean
  scope?: string
  operation?: string
  answers: number[]
  query?: { name: string }[]
}
const golden = JSON.parse(readFileSync(new URL('../../src/api/http/interface.json', import.meta.url), 'utf8')) as {
  modules: string[]
  routes: Row[]
}

const keyOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`
const ours = new Map(ROUTES.map((route) => [keyOf(route), route]))

/** A route in the format of a row of the interface. */
function said(route: Route): Omit<Row, 'answers' | 'query'> {
  const { area, method, path, authorization, scope, operation } = route
  const base = { area, method, path, auth: authorization.kind, ...(operation !== undefined && { operation }) }
  if (authorization.kind !== 'iam') return base
  return { ...base, action: authorization.action, dataAction: authorization.isData, scope: scope ?? 'none' }
}

/** The choices of a field of the items of a list, if it has any. */
function choicesOf(reply: z.ZodType | undefined, name: string): readonly string[] {
  const { items } = (reply as z.ZodObject).shape as { items: z.ZodArray<z.ZodObject> }
  let field: unknown = items.element.shape[name]
  while (field instanceof z.ZodOptional || field instanceof z.ZodNullable || field instanceof z.ZodDefault)
    field = field.unwrap()
  return field instanceof z.ZodEnum ? field.options.map(String) : []
}

describe('route table', () => {
  it('has exactly the 406 routes of the interface', () => {
    expect([...ours.keys()].sort()).to.deep.equal(golden.routes.map(keyOf).sort())
    expect(golden.routes.length).to.equal(406)
  })

  it('filters enumerations ignoring case', () => {
    const ofOtherTypes = SERVED_ROUTES.flatMap(({ list, reply, path }) =>
      Object.entries(list?.fields ?? {})
        .filter(
          ([name, field]) => field.type !== 'enumeration' && choicesOf(reply, name).some((text) => /[a-z]/i.test(text)),
        )
        .map(([name]) => `${path} ${name}`),
    )
    expect(ofOtherTypes).to.deep.equal([])
  })

  for (const row of golden.routes) {
    it(`has ${keyOf(row)} as the interface declares it`, () => {
      const route = ours.get(keyOf(row))
      if (route === undefined) throw new Error('The route is missing.')
      const { area, method, path, auth, action, dataAction, scope, operation } = row
      const wanted = {
        ...{ area, method, path, auth },
        ...(operation !== undefined && { operation }),
        ...(auth === 'iam' && { action, dataAction, scope }),
      }
      expect(said(route)).to.deep.equal(wanted)
      // A route may return more errors than the interface (records: errors beyond the interface's), but not fewer.
      expect(route.answers).to.include.members(row.answers)
      const names = [
        ...Object.keys(route.query?.shape ?? {}),
        ...(route.list === undefined ? [] : ['page', 'pageSize']),
      ]
      const listNames = new Set(['page', 'pageSize', route.list?.limitName ?? ''])
      const wantedNames = (row.query ?? []).map(({ name }) => name).filter((name) => !listNames.has(name))
      expect(names).to.include.members(wantedNames)
    })
  }

  it('names only existing actions, and marks data actions', () => {
    for (const { authorization, path } of SERVED_ROUTES) {
      if (authorization.kind !== 'iam') continue
      const found = findAction(authorization.action)
      expect(found, `${path}: add ${authorization.action} to src/core/actions.ts`).to.not.equal(undefined)
      expect(found?.isData, `${path}: ${authorization.action}`).to.equal(authorization.isData)
    }
  })

  it('has a summary and statuses for every route', () => {
    for (const route of SERVED_ROUTES) {
      expect(route.summary, keyOf(route)).to.match(/\S/)
      expect(route.answers, keyOf(route)).to.not.be.empty
    }
  })

  it('has unique operation names', () => {
    const names = SERVED_ROUTES.flatMap(({ operation }) => (operation === undefined ? [] : [operation]))
    expect(new Set(names).size).to.equal(names.length)
  })

  it('has the modules of the interface', () => {
    const modules = Object.keys(DOCUMENTED_MODULES)
    expect([...modules].sort()).to.deep.equal([...golden.modules].sort())
    const known = new Set<string>([...modules, 'platform', 'apps', 'kernel'])
    for (const { name, module } of AREAS)
      expect([...known], `the module of the area ${name} in src/api/index.ts`).to.include(module)
  })
})

describe('ADDITIONS', () => {
  it('contain no route of the interface and are marked as additions', () => {
    const rows = new Set(golden.routes.map(keyOf))
    expect(ADDITIONS).to.not.be.empty
    for (const addition of ADDITIONS) {
      expect(rows.has(keyOf(addition)), keyOf(addition)).to.equal(false)
      expect(addition.isAddition, keyOf(addition)).to.equal(true)
    }
    expect(ROUTES.filter(({ isAddition }) => isAddition)).to.deep.equal([])
  })

  it('contain each route once', () => {
    expect(new Set(ADDITIONS.map(keyOf)).size).to.equal(ADDITIONS.length)
  })
})

describe('Router with all routes', () => {
  const router = new Router(SERVED_ROUTES)
  const values: Record<string, string> = { boundaryId: '11111111-1111-4111-8111-111111111111' }
  const filled = (path: string) =>
    `/${templateSegments(path)
      .map(({ kind, text }) => {
        if (kind === 'literal') return text
        return values[text] ?? (text.endsWith('Id') ? '22222222-2222-4222-8222-222222222222' : 'zebra')
      })
      .join('/')}`

  for (const route of SERVED_ROUTES) {
    it(`finds ${keyOf(route)}`, () => {
      expect(router.find(route.method, filled(route.path))?.route).to.equal(route)
    })
  }

  it('finds no route of another method', () => {
    for (const route of SERVED_ROUTES) {
      const path = filled(route.path)
      for (const method of [...METHODS, 'OPTIONS', 'TRACE', 'CONNECT', 'PROPFIND', 'get']) {
        const match = router.find(method, path)
        if (match !== undefined) expect(match.route.method, `${method} ${path}`).to.equal(method)
      }
    }
  })
})

describe('reservedNames', () => {
  it('contain literals beside parameters and collections', () => {
    const names = reservedNames()
    expect(names).to.include.members(['config', 'validate', 'vectorclusters', 'apps', 'secretvaults'])
    expect(names).to.not.include('apikey')
  })
})
