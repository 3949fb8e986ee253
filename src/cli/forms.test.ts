import { expect } from 'chai'
import { BODIES } from '../client/bodies.ts'
import { VERBS } from './collection.ts'
import { chooseRoute, commandLinesFor, deriveCollections, findCollection, normalizedPath } from './collections.ts'
import { parseCommandLine } from './command.ts'
import { COMMANDS } from './commands/index.ts'
import { parsePairs } from './text.ts'

const COLLECTIONS = deriveCollections()
const COMMAND_OF = { list: 'list', get: 'get', create: 'create', update: 'get', patch: 'get', delete: 'delete' }

/** The path that a command line results in. */
function ledTo(
  form: string,
  verb: (typeof VERBS)[number],
  defaults: { boundary?: string; group?: string } = {},
): string {
  const [, name, ...words] = form.split(' ')
  const command = COMMANDS.find((each) => each.name === name)
  if (command === undefined) throw new Error(`There is no command ${name}.`)
  const input = parseCommandLine(command, words)
  const [word = '', thing] = input.positionals
  const given = {
    name: thing,
    boundary: input.text('boundary') ?? defaults.boundary,
    group: input.text('group') ?? (input.has('all-groups') ? undefined : defaults.group),
    parameters: Object.fromEntries(parsePairs('param', input.all('param'))),
  }
  return normalizedPath(chooseRoute(findCollection(word, COLLECTIONS), verb, given).route)
}

describe('commandLinesFor', () => {
  for (const { noun, routes } of COLLECTIONS)
    for (const verb of VERBS) {
      const candidates = routes.filter((route) => route.verb === verb)
      const command = COMMANDS.find((each) => each.name === COMMAND_OF[verb])
      if (candidates.length === 0 || command === undefined) continue
      it(`returns forms that result in the given routes: ${verb} ${noun}`, () => {
        const forms = commandLinesFor(
          candidates,
          noun,
          parseCommandLine(
            command,
            (command.positionals ?? []).map(({ name }) => name),
          ).command,
        )
        const places = new Set(forms.map((form) => ledTo(form, verb)))
        expect(places, forms.join('\n')).to.deep.equal(new Set(candidates.map(normalizedPath)))
      })
    }
})

describe('commandLinesFor with a default boundary and group', () => {
  const defaults = { boundary: 'b', group: 'g' }
  for (const { noun, routes } of COLLECTIONS)
    for (const verb of VERBS) {
      const candidates = routes.filter((route) => route.verb === verb)
      const command = COMMANDS.find((each) => each.name === COMMAND_OF[verb])
      if (candidates.length === 0 || command === undefined) continue
      it(`leaves them out of the forms, which result in the given routes: ${verb} ${noun}`, () => {
        const words = (command.positionals ?? []).map(({ name }) => name)
        const forms = commandLinesFor(candidates, noun, parseCommandLine(command, words).command, defaults)
        expect(forms.join('\n')).to.not.match(/--boundary|--group /)
        const places = new Set(forms.map((form) => ledTo(form, verb, defaults)))
        expect(places, forms.join('\n')).to.deep.equal(new Set(candidates.map(normalizedPath)))
      })
    }
})

describe('findCollection', () => {
  const { also } = { also: COLLECTIONS.flatMap((each) => each.also.map((alias) => ({ ...alias, noun: each.noun }))) }
  it('finds collections by the names and short names of kubectl', () => {
    for (const { names, shortNames, noun } of also)
      for (const name of [...names, ...shortNames]) expect(() => findCollection(name, COLLECTIONS), noun).to.not.throw()
    expect(findCollection('sqli', COLLECTIONS).noun).to.equal('sqlclusters')
    expect(findCollection('SqlInstance', COLLECTIONS).noun).to.equal('sqlclusters')
    expect(findCollection('pjob', COLLECTIONS).noun).to.equal('jobs')
    expect(findCollection('vent', COLLECTIONS).noun).to.equal('secrets')
  })

  it('finds the collection of the kind with the short name bps', () => {
    expect(
      findCollection('bps', COLLECTIONS).routes.every(({ path }) => path.includes('/blueprints/sources')),
    ).to.equal(true)
  })

  for (const [word, said] of [
    ['sqlinstanc', /did you mean "sqlinstance"/],
    ['cplan', /no collection of ComputePlans.*kubectl get computeplans\.freehold\.dev/],
    ['zebra', /freehold kinds/],
  ] as const)
    it(`suggests another name or command: ${word}`, () =>
      expect(() => findCollection(word, COLLECTIONS)).to.throw(said))
})

describe('the fields of a creation', () => {
  const creations = COLLECTIONS.flatMap(({ routes }) => routes.filter(({ verb }) => verb === 'create'))
  const fields = creations.flatMap(({ method, path }) =>
    (BODIES[`${method} ${path}`] ?? []).map((field) => ({ path, ...field })),
  )

  it('say what they mean', () => {
    const mute = fields.filter(({ about }) => about === '').map(({ path, name }) => `${path} ${name}`)
    expect(mute).to.deep.equal([])
  })

  it('have the defaults of the kind, also in lists', () => {
    const defaultOf = (noun: string, field: string) =>
      fields.find(({ path, name }) => path.includes(`/${noun}`) && name === field)?.default
    expect(defaultOf('functions/{functionName}', 'timeoutSeconds')).to.equal('30')
    expect(defaultOf('jobs/{jobName}', 'activeDeadlineSeconds')).to.equal('3600')
    expect(defaultOf('containerinstances/{name}', 'components[].replicas')).to.equal('1')
  })

  it('include those of what has no path of its own', () => {
    const paths = fields.map(({ path }) => path)
    expect(paths).to.include.members(['/admin/monitoring/alerts', '/boundaries/{boundaryId}/activity'])
  })
})
