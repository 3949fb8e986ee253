import { expect } from 'chai'
import type { z } from 'zod'
import { SERVED_ROUTES } from '../index.ts'
import { created } from './answer.ts'
import { checkLocation, withLocation } from './location.ts'
import type { Route } from './route.ts'
import { Router } from './router.ts'

const ID = '11111111-1111-4111-8111-111111111111'

/** A record with a text in each of its fields, from which a Location can be built. */
function sampleOf({ reply }: Route): Record<string, string> {
  const shape = (reply as z.ZodObject | undefined)?.shape ?? {}
  return Object.fromEntries(Object.keys(shape).map((name) => [name, /id$/i.test(name) ? ID : 'orders']))
}

const filled = (path: string) => path.replaceAll(/\{(\w+)\}/g, (_, name: string) => (name.endsWith('Id') ? ID : 'shop'))

describe('the Location header of a 201', () => {
  const router = new Router(SERVED_ROUTES)
  const making = SERVED_ROUTES.filter(({ answers }) => answers.includes(201))
  const locationOf = (route: Route) =>
    withLocation(router, route, filled(route.path), created(sampleOf(route))).headers?.location

  it('names a path that a GET route serves', () => {
    expect(making).to.have.length.above(50)
    for (const route of making) {
      const location = locationOf(route)
      const read = location === undefined ? undefined : router.find('GET', location)?.route
      expect(read === undefined, `${route.method} ${route.path}: ${location}`).to.equal(location === undefined)
    }
  })

  it('is sent by each route whose record has a GET route', () => {
    const paths = new Set(SERVED_ROUTES.filter(({ method }) => method === 'GET').map(({ path }) => path))
    const silent = making.filter((route) => locationOf(route) === undefined)
    for (const { method, path } of silent) {
      const below = [...paths].filter((one) => one.startsWith(`${path}/{`) && !one.slice(path.length + 1).includes('/'))
      expect(below, `${method} ${path}`).to.deep.equal([])
      expect(path.endsWith('}') && paths.has(path), `${method} ${path}`).to.equal(false)
    }
  })

  it('is checked when a handler sets it', () => {
    const answer = (location: string) => created({}, { headers: { location } })
    expect(() => checkLocation(router, answer(`/boundaries/${ID}/resources/blueprints/search`))).to.not.throw()
    expect(() => checkLocation(router, answer(`/boundaries/${ID}/nothing/here`))).to.throw('Nothing can be read')
  })
})
