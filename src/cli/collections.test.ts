import { expect } from 'chai'
import { OPERATIONS, type Operation, pathOf } from '../client/index.ts'
import type { GivenArguments, Verb } from './collection.ts'
import { type CommandWords, chooseRoute, deriveCollections, findCollection, nameFieldOf } from './collections.ts'

const collections = deriveCollections()
const BOUNDARY = '5d0f8a52-3c1e-4b7a-9f60-2e8c41d7b391'

/** The method and path that a command line results in, or the message of the failure. */
function reached(verb: Verb, word: string, given: GivenArguments): string {
  try {
    const { route, values } = chooseRoute(findCollection(word, collections), verb, given)
    return `${route.method} ${pathOf(route.path, values)}`
  } catch (error) {
    return (error as Error).message
  }
}

/** The kind and arguments of a form that a refusal names. */
function asGiven(form: string): [string, GivenArguments] {
  const [, , word = '', next] = form.split(' ')
  const parameters = [...form.matchAll(/--param (\w+)=/g)].map(([, name = '']) => [name, 'x'])
  const boundary = form.includes('--boundary ID') ? 'b' : undefined
  const group = form.includes('--group NAME') ? 'g' : undefined
  return [
    word,
    { name: next === 'NAME' ? 'n' : undefined, boundary, group, parameters: Object.fromEntries(parameters) },
  ]
}

describe('collections of the CLI', () => {
  const here = { boundary: 'b', group: 'g' }
  const cases: [string, Verb, string, GivenArguments, string | RegExp][] = [
    [
      'a list in a group',
      'list',
      'vectorclusters',
      here,
      'GET /boundaries/b/resourcegroups/g/resources/vectorclusters',
    ],
    ['a list across groups', 'list', 'vectorclusters', { boundary: 'b' }, 'GET /boundaries/b/resources/vectorclusters'],
    [
      'a resource by its singular',
      'get',
      'vectorcluster',
      { ...here, name: 'x' },
      'GET /boundaries/b/resourcegroups/g/resources/vectorclusters/x',
    ],
    [
      'a resource by its short name in capitals',
      'delete',
      'VC',
      { ...here, name: 'x' },
      'DELETE /boundaries/b/resourcegroups/g/resources/vectorclusters/x',
    ],
    ['a boundary, although the defaults name another', 'get', 'boundary', { ...here, name: 'c' }, 'GET /boundaries/c'],
    ['the creation of a boundary without a name', 'create', 'boundary', here, 'POST /boundaries'],
    ['an error: `delete boundary` does not take the default boundary', 'delete', 'boundary', here, /^NAME is missing/],
    ['the creation of a group', 'create', 'rg', { ...here, name: 'n' }, 'POST /boundaries/b/resourcegroups/n'],
    [
      'a name that is escaped in the path',
      'get',
      'rg',
      { ...here, name: 'a/b?c' },
      'GET /boundaries/b/resourcegroups/a%2Fb%3Fc',
    ],
    ['an error: ".." as a name', 'get', 'rg', { ...here, name: '..' }, /cannot be/],
    [
      'a list of a subresource',
      'list',
      'relationalclusters/snapshots',
      { ...here, parameters: { name: 'orders' } },
      'GET /boundaries/b/resourcegroups/g/resources/relationalclusters/orders/snapshots',
    ],
    ...(['relationalclusters', 'vectorclusters'] as const).map((parent): (typeof cases)[number] => [
      `the creation of a subresource that two kinds have: ${parent}`,
      'create',
      `${parent}/snapshots`,
      { ...here, parameters: { name: 'orders' } },
      `POST /boundaries/b/resourcegroups/g/resources/${parent}/orders/snapshots`,
    ]),
    ['all resources of a group', 'list', 'resources', here, 'GET /boundaries/b/resourcegroups/g/resources'],
    ['all resources of a boundary', 'list', 'resources', { boundary: 'b' }, 'GET /boundaries/b/resources'],
    [
      'a list of what has no path of its own',
      'list',
      'rdef',
      here,
      'GET /boundaries/b/providers/authorization/roleDefinitions',
    ],
    ['the alerts of the boundary', 'list', 'alerts', here, 'GET /boundaries/b/resources/monitoring/alerts'],
    ['the alerts of the platform', 'list', 'admin/monitoring/alerts', here, 'GET /admin/monitoring/alerts'],
    ['an error: no boundary given', 'list', 'vectorclusters', {}, /--boundary/],
    [
      'an error: an unknown --param',
      'list',
      'vectorclusters',
      { ...here, parameters: { color: 'x' } },
      /^--param color=\.\.\. is superfluous/,
    ],
    ['an error: a name given to a list', 'list', 'boundaries', { name: 'x' }, /^NAME is superfluous/],
    ['an error: an unknown kind', 'list', 'unicorns', here, /no kind "unicorns"/],
    [
      'an error: a verb that the kind does not support',
      'delete',
      'vectorcomputeplans',
      { ...here, name: 'x' },
      /cannot delete/,
    ],
  ]
  for (const [what, verb, word, given, expected] of cases) {
    it(`chooseRoute returns ${what}`, () => {
      const found = reached(verb, word, given)
      if (typeof expected === 'string') expect(found).to.equal(expected)
      else expect(found).to.match(expected)
    })
  }

  it('chooseRoute names the missing arguments and the valid forms of the given command', () => {
    const said = (word: string, verb: Verb, given: GivenArguments, command: CommandWords) => {
      try {
        chooseRoute(findCollection(word, collections), verb, given, command)
      } catch (error) {
        return (error as Error).message
      }
      return 'nothing'
    }
    expect(
      said('vectorcluster', 'get', { name: 'p', boundary: 'b' }, { name: 'describe', positionals: ['KIND', 'NAME'] }),
    ).to.equal(
      '--group is missing. Valid form:\n  freehold describe vectorclusters NAME --boundary ID --group NAME\n`freehold list resourcegroups` lists them, and `freehold use --group NAME` sets a default.',
    )
    expect(said('vc', 'get', { name: 'p' }, { name: 'scale', positionals: ['KIND', 'NAME', 'REPLICAS'] })).to.equal(
      '--boundary and --group are missing. Valid form:\n  freehold scale vectorclusters NAME REPLICAS --boundary ID --group NAME\n`freehold list boundaries` lists them, and `freehold use --boundary ID` sets a default.',
    )
    expect(said('deployments', 'list', here, { name: 'list', positionals: ['KIND'] })).to.match(
      /^An argument is missing\. Valid forms:\n/,
    )
    expect(said('snapshots', 'list', here, { name: 'list', positionals: ['KIND'] })).to.equal(
      [
        '--param name=... is missing. Valid forms:',
        '  freehold list relationalclusters/snapshots --boundary ID --group NAME --param name=...',
        '  freehold list vectorclusters/snapshots --boundary ID --group NAME --param name=...',
      ].join('\n'),
    )
  })

  it('findCollection finds every list of the interface by its last segment', () => {
    const lists = Object.values(OPERATIONS).filter(({ paged }: Operation) => paged === true)
    expect(lists.length).to.be.greaterThan(50)
    for (const { path } of lists) {
      const { routes } = findCollection(path.split('/').at(-1) ?? '', collections)
      expect(routes.map((route) => route.path)).to.include(path)
    }
  })

  it('chooseRoute names only valid forms that result in a request, for every verb and kind', () => {
    const verbs = collections.flatMap((collection) =>
      [...new Set(collection.routes.map(({ verb }) => verb))].map((verb) => ({ verb, noun: collection.noun })),
    )
    const forms = verbs.flatMap(({ verb, noun }) =>
      (reached(verb, noun, {}).match(/(?<=^ {2})freehold (?!call ).*$/gm) ?? []).map((form) => ({ verb, form })),
    )
    for (const { verb, form } of forms) expect(reached(verb, ...asGiven(form)), form).to.match(/^[A-Z]+ \//)
    expect(forms.length).to.be.greaterThan(100)
  })

  it('chooseRoute chooses the outermost collection if several have the same name', () => {
    expect(reached('list', 'sources', here)).to.equal('GET /boundaries/b/sources')
    expect(reached('list', 'blueprints/sources', here)).to.equal('GET /boundaries/b/resources/blueprints/sources')
    expect(reached('list', 'boundaries/sources', here)).to.equal('GET /boundaries/b/sources')
  })

  it('chooseRoute asks which collection is meant if two of the same depth have the name', () => {
    const operations: Operation[] = [
      { method: 'GET', path: '/a/{x}/things/{name}' },
      { method: 'GET', path: '/b/{x}/things/{name}' },
      { method: 'DELETE', path: '/a/{x}/things/{name}' },
    ]
    const found = deriveCollections(operations)
    const given = { name: 'n', parameters: { x: '1' } }
    expect(() => chooseRoute(findCollection('things', found), 'get', given)).to.throw(
      '"things" may mean several things; say one of a/things, b/things.',
    )
    expect(chooseRoute(findCollection('b/things', found), 'get', given).route.path).to.equal('/b/{x}/things/{name}')
  })

  it('chooseRoute suggests only spellings that result in different requests', () => {
    let offered = 0
    for (const collection of collections) {
      for (const { verb, parameters, nameParameter } of collection.routes) {
        const further = parameters.filter((each) => each !== nameParameter && each !== 'boundaryId')
        const given: GivenArguments = {
          ...here,
          name: nameParameter && 'n',
          parameters: Object.fromEntries(further.map((each) => [each, 'x'])),
        }
        const [, spellings] = /say one of (.*)\.$/.exec(reached(verb, collection.noun, given)) ?? []
        const paths = (spellings?.split(', ') ?? []).map((spelling) => reached(verb, spelling, given))
        for (const path of paths) expect(path).to.match(/^[A-Z]+ \//)
        expect(new Set(paths).size).to.equal(paths.length)
        offered += paths.length
      }
    }
    expect(offered).to.be.greaterThan(0)
  })

  it('chooseRoute treats paths that differ only in parameter names as one', () => {
    const found = deriveCollections([
      { method: 'GET', path: '/a/{x}/things/{thingId}' },
      { method: 'GET', path: '/a/{x}/things/{slug}' },
      { method: 'DELETE', path: '/a/{x}/things/{slug}' },
    ])
    const given = { name: 'n', parameters: { x: '1' } }
    const { route, values } = chooseRoute(findCollection('things', found), 'get', given)
    expect(pathOf(route.path, values)).to.equal('/a/1/things/n')
    expect(reached('get', 'blueprint', { ...here, name: 'vault' })).to.equal(
      'GET /boundaries/b/resources/blueprints/vault',
    )
  })

  for (const [word, field] of [
    ['vectorclusters', 'name'],
    ['boundaries', 'id'],
    ['vectorcomputeplans', 'id'],
    ['resourcegroups', 'name'],
  ] as const) {
    it(`nameFieldOf returns ${field} for ${word} without records`, () => {
      expect(nameFieldOf(findCollection(word, collections))).to.equal(field)
    })
  }

  for (const [word, record, field] of [
    ['revisions', { number: 3, deploymentId: 'd' }, 'number'],
    ['versions', { name: 'Password', version: 2 }, 'version'],
    ['members', { assignmentId: 'a', principalId: 'p' }, 'assignmentId'],
    ['iam/members', { userId: 'u', displayName: 'Anna' }, 'userId'],
    ['managedidentities', { id: 'i', resourceUid: 'r', resourceName: 'shop' }, 'resourceUid'],
    ['deployments', { id: 'd', deploymentId: 'd' }, 'id'],
    ['blueprints', { id: 'b', slug: 'vault', name: 'Vault' }, 'id'],
    ['vectorclusters', { id: 'i', name: 'products' }, 'name'],
  ] as const) {
    it(`nameFieldOf returns ${field} for a record of ${word}`, () => {
      expect(nameFieldOf(findCollection(word, deriveCollections()), [record])).to.equal(field)
      expect(nameFieldOf(findCollection(word, deriveCollections()), record)).to.equal(field)
    })
  }

  it('deriveCollections returns no collection for a subresource that cannot be listed', () => {
    const found = deriveCollections([
      { method: 'GET', path: '/rockets' },
      { method: 'GET', path: '/rockets/{name}' },
      { method: 'GET', path: '/rockets/{name}/diff/{to}' },
    ])
    expect(found.map(({ noun }) => noun)).to.deep.equal(['rockets'])
  })

  it('pathOf fills in all parameters of every operation, and throws if they are missing', () => {
    expect(Object.keys(OPERATIONS).length).to.be.greaterThan(300)
    for (const { path } of Object.values(OPERATIONS)) {
      const parameters = [...path.matchAll(/\{([A-Za-z]+)\}/g)].map(([, name = '']) => name)
      const values = Object.fromEntries(parameters.map((name) => [name, name === 'boundaryId' ? BOUNDARY : 'x']))
      expect(pathOf(path, values)).to.not.match(/[{}]/)
      if (parameters.length > 0) expect(() => pathOf(path, {})).to.throw(TypeError)
    }
  })
})
