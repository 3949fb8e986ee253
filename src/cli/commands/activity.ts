import { OPERATIONS, pathOf } from '../../client/index.ts'
import type { Command, Option } from '../command.ts'
import { usage } from '../failure.ts'
import { ONE, PLACES, prepare, routesBelow, sendBelow, WHERE } from '../requests.ts'
import { OUTPUT, show } from '../session.ts'

const LIMIT: Option = { long: 'limit', value: 'N', summary: 'At most N, the newest first; 20 where absent' }
const SHOWN = 20

/** What was done to a resource, by whom and how it ended: the interface calls it activity. */
export const events: Command = {
  name: 'events',
  summary: 'Show what was done to a resource: by whom, how, and how it ended',
  positionals: ONE,
  options: [...WHERE, LIMIT, OUTPUT],
  details: `${PLACES}\nWhat the platform did for it, and what went wrong on the way, is in \`freehold describe\`.`,
  async run(input, context) {
    const limit = Number(input.text('limit') ?? SHOWN)
    if (!Number.isInteger(limit) || limit < 1 || limit > 500) throw usage('--limit is a number from 1 to 500.')
    const { client, collection, target } = await prepare('get', input, context)
    const { boundaryId = '', resourceGroupName: resourceGroup } = target.values
    const [, resourceName] = input.positionals
    if (resourceGroup === undefined || resourceName === undefined) {
      throw usage(`${collection.noun} are no resources of a group: only those have a record of what was done.`)
    }
    const values = { boundaryId, resourceGroup, resourceType: collection.noun, resourceName }
    const path = pathOf(OPERATIONS.GetActivityRecords.path, values, { pageSize: limit })
    const { text } = await client.request({ method: 'GET', path })
    const { items } = JSON.parse(text) as { items: Entry[] }
    show(input.text('output') === 'json' ? items : items.map(shown), input, context)
  },
}

type Entry = {
  occurredAt: string
  action: string
  operation: string
  outcome: string
  channel: string
  actor?: { displayName?: string; name?: string; id?: string; type?: string }
}

function shown({ occurredAt, operation, actor, channel, outcome }: Entry) {
  return { occurredAt, operation, by: actor?.displayName ?? actor?.name ?? actor?.id ?? actor?.type, channel, outcome }
}

/** What the interface can replace below a thing: `.../apikey/rotate`. */
export const rotate: Command = {
  name: 'rotate',
  summary: 'Replace the key or the secret of something',
  positionals: [...ONE, { name: 'WHAT', isOptional: true }],
  options: [...WHERE, OUTPUT],
  details: `${PLACES}\nWHAT is only needed where there are several. The former one may work for a while: docs/areas says how long.`,
  async run(input, context) {
    const [, , what] = input.positionals
    const prepared = await prepare('get', { ...input, positionals: input.positionals.slice(0, 2) }, context)
    const all = routesBelow(prepared.target, 'POST').flatMap((route) => {
      const name = /^([a-z-]+)\/rotate$/.exec(route.words)?.[1]
      return name === undefined ? [] : [{ name, route }]
    })
    const [found, other] = all.filter(({ name }) => what === undefined || name === what)
    const names = all.map(({ name }) => name).join(', ')
    if (found === undefined) {
      throw usage(`${prepared.collection.noun} have ${names === '' ? 'nothing to rotate' : `only ${names} to rotate`}.`)
    }
    if (other !== undefined) throw usage(`Say which: ${names}.`)
    const answer = await sendBelow(prepared, found.route)
    if (answer === undefined) context.terminal.err(`${found.name} of ${input.positionals[1]} was rotated.\n`)
    else show(answer, input, context)
  },
}
