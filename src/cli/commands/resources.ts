import { type Client, pagesOf, pathOf, type QueryValue } from '../../client/index.ts'
import { chooseRoute, findCollection, type Given, type Target, type Verb } from '../collections.ts'
import type { Command, Context, Input, Option, Positional } from '../command.ts'
import { usage } from '../failure.ts'
import { table } from '../output.ts'
import { OUTPUT, openSession, PLACE_OPTIONS, placeOf, show } from '../session.ts'
import { dataOf, pairsOf } from '../text.ts'

const KIND: Positional = { name: 'KIND', offers: 'kinds' }
const NAME: Positional = { name: 'NAME', isOptional: true }
const MORE: readonly Option[] = [
  ...PLACE_OPTIONS,
  { long: 'param', short: 'p', value: 'NAME=VALUE', many: true, summary: 'A further parameter of the path' },
  { long: 'query', short: 'q', value: 'NAME=VALUE', many: true, summary: 'A parameter of the query' },
]
const DATA: Option = { long: 'data', short: 'd', value: 'JSON', summary: 'The body: JSON, @file, or - for stdin' }
const PLACES =
  'KIND is a plural, singular or short name of `freehold kinds`; where one word stands at several places, parent/child.'

type Prepared = { client: Client; target: Target; query: Record<string, QueryValue> }

async function prepare(verb: Verb, input: Input, context: Context): Promise<Prepared> {
  const { client, settings } = await openSession(context)
  const [word = '', name] = input.positionals
  const place = placeOf(input, settings)
  const group = input.has('all-groups') ? undefined : place.group
  const parameters = Object.fromEntries(pairsOf('param', input.all('param')))
  const given: Given = { name, boundary: place.boundary, group, parameters }
  const target = chooseRoute(findCollection(word, context.collections), verb, given)
  const query: Record<string, string[]> = {}
  for (const [key, value] of pairsOf('query', input.all('query'))) query[key] = [...(query[key] ?? []), value]
  return { client, target, query }
}

/** Sends and reads JSON; undefined if the answer has no body. */
async function send({ client, target, query }: Prepared, body?: unknown): Promise<unknown> {
  const { route, values } = target
  const path = pathOf(route.path, values, query)
  const { text } = await client.request({ method: route.method, path, body })
  return text === '' ? undefined : JSON.parse(text)
}

const LIST_OPTIONS: readonly Option[] = [
  ...MORE,
  { long: 'all-groups', short: 'A', summary: 'Across the groups of the boundary, whatever the default group is' },
  { long: 'filter', short: 'f', value: 'FIELD:OP:VALUE', many: true, summary: 'Only those; several must all hold' },
  { long: 'search', value: 'TEXT', summary: 'Only those that hold the text' },
  { long: 'sort', value: 'FIELD', summary: 'Prefix with - to reverse: --sort=-name' },
  { long: 'limit', value: 'N', summary: 'At most N items' },
  OUTPUT,
]

async function listItems(input: Input, context: Context): Promise<void> {
  const prepared = await prepare('list', input, context)
  const isPaged = prepared.target.route.paged === true
  const asked = { filter: [...input.all('filter')], search: input.text('search'), sort: input.text('sort') }
  const query = { ...prepared.query, ...(asked.filter.length > 0 && { filter: asked.filter }) }
  const limit = limitOf(input)
  const first = { ...query, search: asked.search, sort: asked.sort }
  const items: unknown[] = []
  const fetchPage = (page: Record<string, QueryValue>) =>
    // Only paged lists know these names, and an unknown one is refused.
    send({ ...prepared, query: isPaged ? { pageSize: Math.min(limit, 500), ...page } : { ...page, page: undefined } })
  for await (const item of pagesOf(fetchPage, first)) {
    if (items.length >= limit) break
    items.push(item)
  }
  if (items.length === 0 && context.terminal.isTerminal) context.terminal.err('No items found.\n')
  show(items, input, context)
}

function limitOf(input: Input): number {
  const text = input.text('limit')
  if (text === undefined) return Number.POSITIVE_INFINITY
  if (!/^[1-9]\d{0,8}$/.test(text)) throw usage(`--limit is a number from 1, not "${text}".`)
  return Number(text)
}

export const list: Command = {
  name: 'list',
  summary: 'List things of a kind',
  positionals: [KIND],
  options: LIST_OPTIONS,
  details: `${PLACES}\nWithout a group: across all groups of the boundary.`,
  run: listItems,
}

export const get: Command = {
  name: 'get',
  summary: 'Show one thing; without NAME, list',
  positionals: [KIND, NAME],
  options: LIST_OPTIONS,
  details: PLACES,
  async run(input, context) {
    if (input.positionals.length === 1) return listItems(input, context)
    show(await send(await prepare('get', input, context)), input, context)
  },
}

export const create: Command = {
  name: 'create',
  summary: 'Create something',
  positionals: [KIND, NAME],
  options: [...MORE, DATA, OUTPUT],
  details: `${PLACES}\nNAME is left out where the platform gives it: freehold create boundary -d '{"displayName":"Acme"}'`,
  async run(input, context) {
    const data = input.text('data')
    const body = data === undefined ? undefined : await dataOf(data, context.terminal)
    show(await send(await prepare('create', input, context), body), input, context)
  },
}

export const remove: Command = {
  name: 'delete',
  summary: 'Delete something',
  positionals: [KIND, { name: 'NAME' }],
  options: [...MORE, { long: 'keep-data', summary: 'Keep the volumes, if the kind supports it' }],
  details: PLACES,
  async run(input, context) {
    const prepared = await prepare('delete', input, context)
    const query = { ...prepared.query, ...(input.has('keep-data') && { keepData: 'true' }) }
    await send({ ...prepared, query })
    context.terminal.err(`Deleting ${input.positionals.join(' ')}; its contents are removed first.\n`)
  },
}

export const kinds: Command = {
  name: 'kinds',
  summary: 'List the kinds and what can be done with each',
  async run(_input, { collections, terminal }) {
    const rows = collections.map(({ noun, singular, shortNames, routes }) => [
      noun,
      [singular, ...shortNames].join(', '),
      [...new Set(routes.map(({ verb }) => verb))].join(' '),
    ])
    terminal.out(table([['KIND', 'ALSO', 'VERBS'], ...rows]))
  },
}
