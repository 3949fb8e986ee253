import { GROUP_PARAMETERS } from '../argumentGaps.ts'
import { creationHelp } from '../bodyFields.ts'
import type { Collection, CollectionRoute } from '../collection.ts'
import { findCollection, literalsOf } from '../collections.ts'
import type { Command } from '../command.ts'
import { table } from '../output.ts'
import { KIND } from '../requests.ts'

export const kinds: Command = {
  name: 'kinds',
  summary: 'List the kinds, where each is, and what can be done with it; for one kind, also the fields that create it',
  positionals: [{ ...KIND, isOptional: true }],
  details:
    'KIND, or a name under ALSO, is the KIND of other commands. IN is what contains it: a group (-g), a boundary (-b), the\nplatform, or a resource that --param names.',
  async run({ positionals: [word] }, { collections, terminal }) {
    const found = word === undefined ? undefined : findCollection(word, collections)
    const rows = (found === undefined ? collections : [found]).flatMap(placesOf).map(rowOf)
    terminal.out(table([['KIND', 'ALSO', 'IN', 'VERBS'], ...rows]))
    if (found !== undefined) terminal.out(`\n${await creationHelp(found, CREATE)}`)
  },
}

const CREATE = { name: 'create', positionals: [KIND.name, '[NAME]'] }

/** Splits a collection with several places into one entry per spelling. */
function placesOf(collection: Collection): Collection[] {
  const { noun, also, routes } = collection
  const lower = routes.filter(({ isLower }) => isLower === true)
  if (lower.length === 0) return [collection]
  const parentOf = ({ path }: CollectionRoute) => literalsOf(path)[0] ?? ''
  const parents = [...new Set(lower.map(parentOf))]
  const isOf = (parent: string) => (alias: Collection['also'][number]) => alias.below[0] === parent
  return [
    {
      ...collection,
      also: also.filter((alias) => !parents.some((parent) => isOf(parent)(alias))),
      routes: routes.filter((route) => !lower.includes(route)),
    },
    ...parents.map((parent) => ({
      ...collection,
      noun: `${parent}/${noun}`,
      singular: `${parent}/${collection.singular}`,
      also: also.filter(isOf(parent)),
      routes: lower.filter((route) => parentOf(route) === parent),
    })),
  ]
}

function rowOf({ noun, singular, also, routes }: Collection): string[] {
  const verbs = new Set(routes.map(({ verb }) => verb))
  // Some resources are created by their first PUT, which `freehold create` sends.
  if (verbs.has('update')) verbs.add('create')
  const names = [singular, ...also.flatMap(({ names: [, kind = ''], shortNames }) => [...shortNames, kind])]
  const known = new Set([noun, singular].map((name) => name.toLowerCase()))
  const aliases = names.filter((name, at) => (at === 0 ? name !== noun : !known.has(name)))
  const places = [...new Set(routes.map(placeIn))]
  return [noun, aliases.join(', '), places.join('; '), [...verbs].join(' ')]
}

/** Returns what contains the resources of a route: `group`, or `secretvaults (-p resourceName)`. */
function placeIn({ path, parameters, nameParameter }: CollectionRoute): string {
  const parentParameters = parameters.filter((name) => name !== nameParameter)
  const otherParameters = parentParameters.filter((name) => name !== 'boundaryId' && !GROUP_PARAMETERS.includes(name))
  if (otherParameters.length > 0) {
    const words = path.split('/')
    const parentNoun = words
      .slice(0, words.indexOf(`{${otherParameters.at(-1)}}`))
      .findLast((word) => !word.startsWith('{'))
    return `${parentNoun} (${otherParameters.map((name) => `-p ${name}`).join(' ')})`
  }
  if (parentParameters.some((name) => GROUP_PARAMETERS.includes(name))) return 'group'
  return parentParameters.includes('boundaryId') ? 'boundary' : 'platform'
}
