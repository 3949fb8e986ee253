import { expect } from 'chai'
import { SeededRandom } from '../../../test/make/random.ts'
import { RESOURCE_KINDS } from '../../crds/index.ts'
import { levelsOf, scopeOfPath } from '../callers/scopes.ts'
import { SERVED_ROUTES } from '../index.ts'
import { area, authenticated, type Route, route } from './route.ts'
import { decodeSegment, Router, reservedNamesOf } from './router.ts'

const B = '11111111-1111-4111-8111-111111111111'
const GROUP = `/boundaries/${B}/resourcegroups/shop`
const ITEM = `${GROUP}/resources/vectorclusters/orders`
const draft = (path: string) =>
  route('GET', path, { auth: authenticated, summary: 'Read', answers: [200], handler: () => ({ status: 200 }) })

describe('Router.find with a path that is not canonical', () => {
  const router = new Router(SERVED_ROUTES)
  const hostile: [string, string][] = [
    ['an empty path', ''],
    ['a path without a leading slash', ITEM.slice(1)],
    ['a URL', `http://example.org${ITEM}`],
    ['a doubled leading slash', `/${ITEM}`],
    ['a trailing slash', `${ITEM}/`],
    ['two trailing slashes', `${ITEM}//`],
    ['a doubled slash inside', ITEM.replace('/resources', '//resources')],
    ['a dot segment', ITEM.replace('/resources', '/./resources')],
    ['a parent segment', ITEM.replace('/resources', '/x/../resources')],
    ['a parent segment as a name', `${GROUP}/resources/vectorclusters/..`],
    ['a dot as a name', `${GROUP}/resources/vectorclusters/.`],
    ['encoded dots as a name', `${GROUP}/resources/vectorclusters/%2e%2e`],
    ['half encoded dots', `${GROUP}/resources/vectorclusters/.%2e`],
    ['upper-case encoded dots', `${GROUP}/resources/vectorclusters/%2E%2E`],
    ['an encoded slash as a separator', ITEM.replace('/orders', '%2forders')],
    ['an upper-case encoded slash', ITEM.replace('/orders', '%2Forders')],
    ['an encoded slash inside a name', `${GROUP}/resources/vectorclusters/a%2fb`],
    ['an encoded backslash inside a name', `${GROUP}/resources/vectorclusters/a%5cb`],
    ['a backslash as a separator', ITEM.replace('/orders', '\\orders')],
    ['an encoded letter in a literal segment', ITEM.replace('boundaries', '%62oundaries')],
    ['an encoded letter in a name', ITEM.replace('orders', '%6frders')],
    ['an encoded digit in a name', `${GROUP}/resources/vectorclusters/%31`],
    ['an encoded hyphen in a name', `${GROUP}/resources/vectorclusters/a%2db`],
    ['an encoded tilde', `${GROUP}/resources/vectorclusters/%7e`],
    ['an upper-case letter in a literal segment', ITEM.replace('boundaries', 'Boundaries')],
    ['a camel-case literal segment', ITEM.replace('resourcegroups', 'resourceGroups')],
    ['an upper-case collection', ITEM.replace('vectorclusters', 'VectorClusters')],
    ['a NUL', `${ITEM}%00`],
    ['an encoded line feed', `${ITEM}%0a`],
    ['an encoded carriage return', `${ITEM}%0d%0aX: y`],
    ['an encoded delete', `${ITEM}%7f`],
    ['an encoded C1 control', `${ITEM}%c2%85`],
    ['a line separator', `${ITEM}%e2%80%a8`],
    ['broken UTF-8', `${ITEM}%ff`],
    ['an overlong slash', `${ITEM}%c0%af`],
    ['an encoded surrogate', `${ITEM}%ed%a0%80`],
    ['a single percent sign', `${ITEM}%`],
    ['an incomplete encoding', `${ITEM}%2`],
    ['an invalid encoding', `${ITEM}%zz`],
    ['a decomposed letter', `${GROUP}/resources/vectorclusters/e%cc%81`],
    ['an empty name', `${GROUP}/resources/vectorclusters//scale`],
    ['one segment too many', `${ITEM}/scale/now`],
    ['one segment too few', `/boundaries/${B}/resourcegroups/shop/x`],
    ['a matrix parameter', ITEM.replace('boundaries', 'boundaries;v=1')],
    ['a fragment', ITEM.replace('/orders', '#/orders')],
    ['a name of 513 characters', `${GROUP}/resources/vectorclusters/${'a'.repeat(513)}`],
    ['a path of 1 MiB', `/${'a/'.repeat(524_288)}`],
    ['100,000 segments', '/a'.repeat(100_000)],
    ['an asterisk', '*'],
    ['a parent segment in a documentation path', '/docs/db-vector/../../etc/passwd'],
    ['encoded dots in a documentation path', '/docs/db-vector/%2e%2e/secret'],
    ['an encoded slash in a documentation path', '/docs/db-vector/a%2fb'],
  ]
  for (const [sentence, path] of hostile) {
    it(`finds no route for ${sentence}`, () => expect(router.find('GET', path)).to.equal(undefined))
  }
  it('is tried with at least 40 paths', () => expect(hostile.length).to.be.at.least(40))

  for (const method of ['get', 'OPTIONS', 'TRACE', 'CONNECT', 'PURGE', '', '__proto__', 'constructor']) {
    it(`finds no route for the method ${JSON.stringify(method)}`, () => {
      expect(router.find(method, ITEM)).to.equal(undefined)
    })
  }

  it('finds the route of GET for HEAD', () => {
    const found = router.find('HEAD', ITEM)
    expect(found?.route.method).to.equal('GET')
    expect(found?.route).to.equal(router.find('GET', ITEM)?.route)
  })
})

describe('Router', () => {
  const router = new Router(SERVED_ROUTES)
  const cases: [string, string, string, Record<string, string>][] = [
    [
      'decodes a parameter once',
      'GET',
      `${GROUP}/resources/sqlclusters/s/editor/tables/dbo/a%2520b/rows`,
      { table: 'a%20b' },
    ],
    [
      'accepts an encoded colon',
      'GET',
      `${GROUP}/resources/sqlclusters/s/editor/tables/d%3Ao/t/rows`,
      { schema: 'd:o' },
    ],
    [
      'matches nested documentation paths',
      'GET',
      '/docs/db-vector/a/b/c.md',
      { path: 'a/b/c.md', module: 'db-vector' },
    ],
    ['prefers a literal segment to a parameter', 'GET', '/docs/db-vector/manifest.json', { module: 'db-vector' }],
    [
      'falls back to a parameter when the literal segment has no match',
      'GET',
      `${ITEM}/activity`,
      { resourceType: 'vectorclusters', resourceName: 'orders' },
    ],
  ]
  for (const [sentence, method, path, wanted] of cases) {
    it(sentence, () => expect(router.find(method, path)?.parameters).to.include(wanted))
  }

  it('distinguishes a UUID from a slug in the same segment', () => {
    const path = `/boundaries/${B}/resources/blueprints`
    expect(router.find('GET', `${path}/${B}`)?.parameters).to.include({ blueprintId: B })
    expect(router.find('GET', `${path}/shop`)?.parameters).to.include({ slug: 'shop' })
  })

  it('rejects a second route for the same method and path', () => {
    const { additions: routes } = area('x', 'x', [draft('/a/{name}'), draft('/a/{other}')])
    expect(() => new Router(routes)).to.throw(TypeError)
  })
})

describe('opaque path parameters', () => {
  const router = new Router(SERVED_ROUTES)
  const opaque = SERVED_ROUTES.filter((each) => each.opaque.length > 0)
  const everyByte = (text: string) =>
    [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
  const spellings = [encodeURIComponent, everyByte, (text: string) => everyByte(text).toUpperCase()]
  const pathOf = ({ path }: Route, encode: (text: string) => string, texts: Readonly<Record<string, string>>) =>
    path
      .replace('{boundaryId}', B)
      .replace(/\{([A-Za-z]+)\}/g, (_, name: string) => (texts[name] === undefined ? 'orders' : encode(texts[name])))

  it('are schemas, tables and rows of 16 routes, after the segments of the scope', () => {
    expect(opaque.length).to.equal(16)
    for (const each of opaque) {
      const named = [...each.path.matchAll(/\{([A-Za-z]+)\}/g)].map(([, name]) => name ?? '')
      const [first = ''] = named.filter((name) => each.opaque.includes(name))
      expect(each.path.split('/').indexOf(`{${first}}`), each.path).to.be.greaterThan(7)
      expect(
        named.slice(named.indexOf(first)).every((name) => each.opaque.includes(name)),
        each.path,
      ).to.equal(true)
    }
  })

  it('decode any text in any encoding, with the route and scope of plain text', () => {
    const random = new SeededRandom(20_261_122)
    const odd = [
      '',
      '.',
      '..',
      '/',
      'a/b',
      '../../..',
      '\\',
      '\0',
      '\r\n',
      '\u0085',
      '\u2028',
      '%',
      '%2F',
      '%252F',
      ':bulk',
    ]
    const words = [...odd, ...'e\u0301 é 1 or 1=1;+&?#=~-_. rows editor tables __proto__ 😀 \ufeff \u202e'.split(' ')]
    const textOf = () =>
      Array.from({ length: 1 + random.below(4) }, () => random.pick(words)).join(random.pick(['', '/']))
    for (let round = 0; round < 120; round += 1) {
      const texts = {
        schema: textOf(),
        table: textOf(),
        pkValue: round < words.length ? (words[round] ?? '') : textOf(),
      }
      for (const each of opaque) {
        const plain = router.find(
          each.method,
          pathOf(each, encodeURIComponent, { schema: 's', table: 't', pkValue: '1' }),
        )
        for (const encode of spellings) {
          const found = router.find(each.method, pathOf(each, encode, texts))
          expect(found?.route, JSON.stringify(texts)).to.equal(plain?.route)
          const shown = Object.entries(texts).filter(([name]) => each.path.includes(`{${name}}`))
          expect(found?.parameters).to.deep.equal({ ...plain?.parameters, ...Object.fromEntries(shown) })
          expect(scopeOfPath(levelsOf(each), found?.segments ?? [])).to.deep.equal(
            scopeOfPath(levelsOf(each), plain?.segments ?? []),
          )
        }
      }
    }
  })

  for (const raw of ['%', '%2', '%zz', '%ff', '%c0%af', '%ed%a0%80', 'é', ' ', '"', '<', '\u0000'])
    it(`reject the invalid encoding ${JSON.stringify(raw)}`, () => {
      const path = `${GROUP}/resources/sqlclusters/s/editor/tables/dbo/t/rows/${raw}`
      expect(router.find('DELETE', path)).to.equal(undefined)
    })

  it('accept 3072 bytes, the longest key that an engine can index', () => {
    const path = `${GROUP}/resources/sqlclusters/s/editor/tables/dbo/t/rows/${everyByte('x'.repeat(3072))}`
    expect(router.find('DELETE', path)?.parameters.pkValue).to.equal('x'.repeat(3072))
  })
})

describe('decodeSegment', () => {
  it('treats __proto__ and constructor as plain text', () => {
    const { additions: routes } = area('x', 'x', [draft('/a/{name}')])
    const match = new Router(routes).find('GET', '/a/__proto__')
    expect(match?.parameters.name).to.equal('__proto__')
    expect(decodeSegment('constructor')).to.equal('constructor')
  })
})

describe('scopeOfPath', () => {
  const routeOf = (method: string, path: string) =>
    SERVED_ROUTES.find((one) => one.method === method && one.path === path) as Route
  const base = '/boundaries/{boundaryId}/resourcegroups/{resourceGroupName}/resources'
  const cases: [string, Route, string, string, string | undefined][] = [
    ['returns the resource for its path', routeOf('GET', `${base}/vectorclusters/{name}`), ITEM, ITEM, undefined],
    [
      'returns the resource for a path below it',
      routeOf('GET', `${base}/vectorclusters/{name}/scale`),
      `${ITEM}/scale`,
      ITEM,
      undefined,
    ],
    [
      'returns the resource for its metrics',
      routeOf('GET', `${base}/monitoring/{resourceType}/{resourceName}/alerts`),
      `${GROUP}/resources/monitoring/vectorclusters/orders/alerts`,
      `${GROUP}/resources/vectorclusters/orders`,
      undefined,
    ],
    [
      'returns the group for metrics of a malformed name',
      routeOf('GET', `${base}/monitoring/{resourceType}/{resourceName}`),
      `${GROUP}/resources/monitoring/vectorclusters/Orders`,
      GROUP,
      'resource',
    ],
    [
      'returns the group for a list of resources',
      routeOf('GET', `${base}/vectorclusters`),
      `${GROUP}/resources/vectorclusters`,
      GROUP,
      undefined,
    ],
    [
      'returns the group for a malformed name',
      routeOf('GET', `${base}/vectorclusters/{name}`),
      `${GROUP}/resources/vectorclusters/Orders`,
      GROUP,
      'resource',
    ],
    [
      'returns the boundary for a malformed group',
      routeOf('GET', `${base}/vectorclusters`),
      `/boundaries/${B}/resourcegroups/Shop/resources/vectorclusters`,
      `/boundaries/${B}`,
      'resourceGroup',
    ],
    [
      'returns the root for a malformed boundary id',
      routeOf('GET', '/boundaries/{boundaryId}'),
      '/boundaries/x',
      '/',
      'boundary',
    ],
    [
      'returns the root for an upper-case boundary id',
      routeOf('GET', '/boundaries/{boundaryId}'),
      '/boundaries/AAAAAAAA-1111-4111-8111-111111111111',
      '/',
      'boundary',
    ],
    [
      'returns the group for a name without a collection',
      routeOf('GET', `${base}/{resourceName}/validate`),
      `${GROUP}/resources/x/validate`,
      GROUP,
      undefined,
    ],
    [
      'returns the root for the deletion of a boundary',
      routeOf('DELETE', '/boundaries/{boundaryId}'),
      `/boundaries/${B}`,
      '/',
      undefined,
    ],
  ]

  it('returns a resource only for segments that are collections of resources', () => {
    const collections = new Set(RESOURCE_KINDS.map(({ segment }) => segment))
    const atResources = SERVED_ROUTES.filter((one) => levelsOf(one).wanted === 3)
    expect(atResources).to.have.length.above(100)
    const elsewhere = atResources.filter((one) => {
      const part = one.path.slice(1).split('/')[levelsOf(one).collectionAt] ?? ''
      return part !== '{resourceType}' && !collections.has(part)
    })
    expect(elsewhere.map(({ method, path }) => `${method} ${path}`)).to.deep.equal([])
  })

  for (const [sentence, route, path, text, badPart] of cases) {
    it(sentence, () => {
      expect(scopeOfPath(levelsOf(route), path.slice(1).split('/'))).to.deep.equal({ text, badPart })
    })
  }
})

describe('reservedNamesOf', () => {
  it('returns literals beside a name parameter, not those beside an id', () => {
    const { additions: routes } = area('x', 'x', [
      draft('/a/{name}'),
      draft('/a/config'),
      draft('/b/{thingId}'),
      draft('/b/window'),
    ])
    expect(reservedNamesOf(routes)).to.deep.equal(['config', 'validate'])
  })
})

describe('an id in a path', () => {
  const router = new Router(SERVED_ROUTES)
  const withIds = SERVED_ROUTES.filter(({ path }) => /\{\w+Id\}/.test(path))
  // Every hexadecimal letter, and no version of RFC 9562.
  const id = 'abcdef00-abcd-fabc-fabc-abcdefabcdef'

  for (const { method, path } of withIds) {
    it(`is accepted in upper case and without a UUID version: ${method} ${path}`, () => {
      const filled = (value: string) => path.replaceAll(/\{\w+Id\}/g, value).replaceAll(/\{\w+\}/g, 'x1')
      const [small, large] = [id, id.toUpperCase()].map((value) => router.find(method, filled(value)))
      expect(large?.route.path).to.equal(path)
      expect(large?.parameters).to.deep.equal(small?.parameters)
      for (const name of Object.keys(large?.parameters ?? {}))
        if (name.endsWith('Id')) expect(large?.parameters[name], name).to.equal(id)
    })
  }
})
