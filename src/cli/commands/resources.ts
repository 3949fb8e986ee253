import { pagesOf, type QueryValue } from '../../client/index.ts'
import { pluralize } from '../../core/pluralize.ts'
import { creationHelp, emptyBodyFor } from '../bodyFields.ts'
import { reasonReader } from '../clusterDetails.ts'
import type { Verb } from '../collection.ts'
import { findCollection, nameFieldOf } from '../collections.ts'
import type { Command, Context, Input, Option } from '../command.ts'
import { clearDeletedDefault } from '../defaults.ts'
import { CommandFailure, EXIT, usage } from '../failure.ts'
import { prepareRecreation, recreateDeleted, withKeptVolumes } from '../keptData.ts'
import { printable } from '../output.ts'
import { lacksReason, statusLine, statusOf } from '../recordStatus.ts'
import { referrersOf } from '../referrers.ts'
import {
  KIND,
  KIND_HELP,
  NAME,
  NAMED_RESOURCE,
  type PreparedRequest,
  prepareRequest,
  REQUEST_OPTIONS,
  send,
} from '../requests.ts'
import { isForPeople, OUTPUT, show } from '../session.ts'
import { parseDataOption } from '../text.ts'
import { readRequestOf, resourceNameOf, WAIT_OPTIONS, waitFor } from '../waiting.ts'

const DATA: Option = { long: 'data', short: 'd', value: 'JSON', summary: 'The body: JSON, @file, or - for stdin' }
const LIST_OPTIONS: readonly Option[] = [
  ...REQUEST_OPTIONS,
  { long: 'all-groups', short: 'A', summary: 'Across the groups of the boundary, whatever the default group is' },
  {
    long: 'filter',
    short: 'f',
    value: 'FIELD:OP:VALUE',
    isRepeatable: true,
    summary: 'Filter; several must all match',
  },
  { long: 'search', value: 'TEXT', summary: 'Only those that contain the text' },
  { long: 'sort', value: 'FIELD', summary: 'Prefix with - to reverse: --sort=-name' },
  { long: 'limit', value: 'N', summary: 'At most N items' },
  OUTPUT,
]

async function listItems(input: Input, context: Context): Promise<void> {
  const prepared = await prepareRequest('list', input, context)
  const isPaged = prepared.target.route.paged === true
  const filters = { filter: [...input.all('filter')], search: input.text('search'), sort: input.text('sort') }
  const query = { ...prepared.query, ...(filters.filter.length > 0 && { filter: filters.filter }) }
  const limit = limitOf(input)
  const first = { ...query, search: filters.search, sort: filters.sort }
  const items: unknown[] = []
  const fetchPage = (page: Record<string, QueryValue>) =>
    // Only paged lists accept these parameters; unknown ones are refused.
    send({ ...prepared, query: isPaged ? { pageSize: Math.min(limit, 500), ...page } : { ...page, page: undefined } })
  for await (const item of pagesOf(fetchPage, first)) {
    if (items.length >= limit) break
    items.push(item)
  }
  if (items.length === 0 && isForPeople(input, context)) context.terminal.err('No items found.\n')
  show(items, input, context, nameFieldOf(prepared.collection, items))
}

function limitOf(input: Input): number {
  const text = input.text('limit')
  if (text === undefined) return Number.POSITIVE_INFINITY
  if (!/^[1-9]\d{0,8}$/.test(text)) throw usage(`--limit must be a number from 1, not "${text}".`)
  return Number(text)
}

export const list: Command = {
  name: 'list',
  summary: 'List things of a kind',
  positionals: [KIND],
  options: LIST_OPTIONS,
  details: `${KIND_HELP}\nWithout a group: across all groups of the boundary.`,
  run: listItems,
}

export const get: Command = {
  name: 'get',
  summary: 'Show one thing; without NAME, list',
  positionals: [KIND, NAME],
  options: LIST_OPTIONS,
  details: KIND_HELP,
  async run(input, context) {
    if (input.positionals.length === 1) return listItems(input, context)
    const prepared = await prepareRequest('get', input, context)
    const record = await send(prepared)
    show(record, input, context, nameFieldOf(prepared.collection, record))
    // Programs get only the record; people also get the reason for its status.
    if (!isForPeople(input, context) || !lacksReason(record)) return
    const line = statusLine(await reasonReader(prepared, resourceNameOf(prepared), context)(record))
    if (line !== statusOf(record)) context.terminal.err(`${printable(line)}\n`)
  },
}

export const create: Command = {
  name: 'create',
  summary: 'Create something',
  positionals: [KIND, NAME],
  options: [...REQUEST_OPTIONS, DATA, ...WAIT_OPTIONS, OUTPUT],
  details: `${KIND_HELP}\n\`freehold create KIND --help\` names the fields of --data.\nLeave NAME out where the platform chooses it: freehold create boundary -d '{"displayName":"Acme"}'\nA secret of a vault: freehold create secret PaymentToken --param resourceName=acme-shop -d '{"value":"..."}'`,
  async helpFor({ positionals: [word], command }, { collections }) {
    if (word === undefined) return undefined
    const collection = findCollection(word, collections)
    return `Create something: ${collection.noun}.\n\n${await creationHelp(collection, command)}`
  },
  async run(input, context) {
    const data = input.text('data')
    // A secret is created by writing its first value, which is a PUT.
    const { routes } = findCollection(input.positionals[0] ?? '', context.collections)
    const isMade = (by: Verb) => routes.some(({ verb }) => verb === by)
    const verb = !isMade('create') && isMade('update') ? 'update' : 'create'
    const prepared = await prepareRequest(verb, input, context)
    const body =
      data === undefined ? await emptyBodyFor(prepared.target.route) : await parseDataOption(data, context.terminal)
    const created = await send(prepared, body)
    const nameField = nameFieldOf(prepared.collection, created)
    const name = input.positionals[1] ?? String((created as Record<string, unknown> | undefined)?.[nameField] ?? '')
    const isAwaited = input.has('wait') && prepared.collection.routes.some(({ verb }) => verb === 'get')
    const last = isAwaited ? await waitFor(readRequestOf(prepared, name), { isChanged: true }, input, context) : created
    show(last, input, context, nameField)
  },
}

export const remove: Command = {
  name: 'delete',
  summary: 'Delete something',
  positionals: NAMED_RESOURCE,
  options: [
    ...REQUEST_OPTIONS,
    { long: 'keep-data', summary: 'Keep the volumes, if the kind supports it' },
    {
      long: 'kept-data',
      summary: 'Delete the volumes that an earlier deletion kept, of a resource that no longer exists',
    },
    { ...DATA, summary: 'With --kept-data: the body of a resource that takes the volumes, if {} is not enough' },
    { long: 'yes', short: 'y', summary: 'Do not ask, whatever else is deleted with it or needs it' },
    ...WAIT_OPTIONS,
  ],
  details: `${KIND_HELP}\nA boundary is a tenant, a vault may hold secrets, and other resources may refer to what is deleted: confirm these\ndeletions, or add --yes where there is no terminal.`,
  async run(input, context) {
    const prepared = await prepareRequest('delete', input, context)
    // On demand, because some resources cannot be read.
    const reading = () => readRequestOf(prepared, input.positionals[1] ?? '')
    if (!input.has('yes')) await confirm(prepared, reading, context)
    if (input.has('kept-data')) await restoreKept(prepared, reading, input, context)
    const query = { ...prepared.query, ...(input.has('keep-data') && { keepData: 'true' }) }
    const placeOptions = input.text('boundary') === undefined ? [] : ['-b', input.text('boundary') ?? '']
    await send({ ...prepared, query }).catch((error: unknown) => {
      throw withKeptVolumes(error, input.positionals[1] ?? '', placeOptions)
    })
    context.terminal.err(`Deleting ${input.positionals.join(' ')}.\n`)
    const { collection, target } = prepared
    const isPlace = ['boundaries', 'resourcegroups'].includes(collection.noun)
    const clearedDefault = isPlace ? await clearDeletedDefault(target.values, context) : undefined
    if (clearedDefault !== undefined) context.terminal.err(`${clearedDefault}\n`)
    if (input.has('wait')) await waitFor(reading(), { isGone: true }, input, context)
  },
}

async function restoreKept(
  prepared: PreparedRequest,
  reading: () => PreparedRequest,
  input: Input,
  context: Context,
): Promise<void> {
  if (input.has('keep-data')) throw usage('--keep-data and --kept-data cannot be combined.')
  const name = input.positionals[1] ?? ''
  const create = prepareRecreation(prepared, name)
  const body = await parseDataOption(input.text('data') ?? '{}', context.terminal)
  await recreateDeleted(reading(), { create, body, name }, context)
}

/** @throws CommandFailure (usage) if something else would be lost and the user does not confirm by typing the name */
async function confirm(prepared: PreparedRequest, reading: () => PreparedRequest, context: Context): Promise<void> {
  const { ask } = context.terminal
  if (prepared.target.route.nameParameter === 'boundaryId') {
    if (ask === undefined) throw usage('Deleting a boundary without a terminal needs --yes.')
    const { displayName = '', id = '' } = ((await send(reading())) ?? {}) as { displayName?: string; id?: string }
    const tenant = displayName === '' ? id : displayName
    return askName(tenant, `This deletes the tenant "${printable(tenant)}".`, ask)
  }
  const losses = await lossesOf(prepared, reading, context)
  if (losses.length === 0) return
  const name = prepared.target.values[prepared.target.route.nameParameter ?? ''] ?? ''
  const title = `${prepared.collection.singular} "${name}"`
  const warning = printable(losses.join(' '))
  if (ask === undefined) throw usage(`Deleting ${title} without a terminal needs --yes. ${warning}`)
  await askName(name, `This deletes ${title}. ${warning}`, ask)
}

/** Lists what would be deleted with the resource, and what refers to it. */
async function lossesOf(
  prepared: PreparedRequest,
  reading: () => PreparedRequest,
  { collections }: Context,
): Promise<string[]> {
  const holders = await referrersOf(prepared, collections)
  const isVault = prepared.collection.noun === 'secretvaults'
  const { secretCount = 0 } = isVault ? ((await send(reading())) as { secretCount?: number }) : {}
  return [
    ...(secretCount > 0 ? [`It holds ${pluralize(secretCount, 'secret')}, which nobody can recover afterwards.`] : []),
    ...(holders.length > 0 ? [`Others refer to it: ${holders.join(', ')}.`] : []),
  ]
}

async function askName(wanted: string, warning: string, ask: NonNullable<Context['terminal']['ask']>): Promise<void> {
  const answer = await ask(`${warning} Type its name to continue: `)
  if (answer.trim() !== wanted) throw new CommandFailure(EXIT.usage, 'Nothing was deleted.')
}
