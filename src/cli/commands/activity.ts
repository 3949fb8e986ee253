import type { ActivityEntry } from '../../client/index.ts'
import { activityOf } from '../activity.ts'
import { clusterDetailsFor } from '../clusterDetails.ts'
import type { Verb } from '../collection.ts'
import { findCollection } from '../collections.ts'
import type { Command, Context, Input, Option } from '../command.ts'
import { usage } from '../failure.ts'
import {
  KIND_HELP,
  listSubresourceRoutes,
  NAMED_RESOURCE,
  PATH_OPTIONS,
  type PreparedRequest,
  prepareRequest,
  resourceInput,
  send,
  sendToSubresource,
} from '../requests.ts'
import { OUTPUT, show } from '../session.ts'

const LIMIT: Option = { long: 'limit', value: 'N', summary: 'At most N, the newest first; default 20' }
const DEFAULT_LIMIT = 20

/** Shows the activity of a resource. */
export const events: Command = {
  name: 'events',
  summary: 'Show what was done to a resource, or to those of a group or boundary: by whom, how, and how it ended',
  positionals: NAMED_RESOURCE,
  options: [...PATH_OPTIONS, LIMIT, OUTPUT],
  details: `${KIND_HELP}\nOf a group or boundary, it shows what was done to the resources in it. Of anything else that is no resource, such as\na cluster, it shows the events of Kubernetes of the last hour. What the platform did for it, and what went wrong, is in \`freehold describe\`.`,
  async run(input, context) {
    const limit = Number(input.text('limit') ?? DEFAULT_LIMIT)
    if (!Number.isInteger(limit) || limit < 1 || limit > 500) throw usage('--limit must be a number from 1 to 500.')
    const prepared = await prepareItem(input, context)
    const items = await activityOf(prepared, limit)
    if (items === undefined) return show(await eventsFor(prepared, limit, input, context), input, context)
    show(input.text('output') === 'json' ? items : items.map(rowOf), input, context)
  },
}

/** Uses the first verb that the API has for the resource: keys, for example, cannot be read. */
async function prepareItem(input: Input, context: Context): Promise<PreparedRequest> {
  const { routes } = findCollection(input.positionals[0] ?? '', context.collections)
  const verbs: readonly Verb[] = ['get', 'update', 'patch', 'delete']
  const verb = verbs.find((each) => routes.some((route) => route.verb === each)) ?? 'get'
  return prepareRequest(verb, input, context)
}

/** Returns the Kubernetes events of a resource without an activity log. */
async function eventsFor(
  prepared: PreparedRequest,
  limit: number,
  input: Input,
  context: Context,
): Promise<readonly object[]> {
  if (prepared.target.route.verb === 'get') await send(prepared)
  const details = await clusterDetailsFor(prepared, input.positionals[1] ?? '', context)
  const { noun } = prepared.collection
  if (details === undefined)
    context.terminal.err(
      `${noun} have no record of what was done, and no Kubernetes events that you may read: see \`freehold events\` of the resource or group that holds it.\n`,
    )
  else if (details.events.length === 0)
    context.terminal.err(`Kubernetes has no events of ${noun} ${input.positionals[1]} now.\n`)
  return (details?.events ?? []).slice(-limit).reverse()
}

function rowOf({ occurredAt, operation, actor, channel, outcome, message, ...entry }: ActivityEntry) {
  const resource = `${entry.resourceGroup}/${entry.resourceType}/${entry.resourceName}`
  return { occurredAt, operation, resource, by: actor.displayName, channel, outcome, message }
}

/** Calls a `rotate` route below a resource, such as `.../apikey/rotate`. */
export const rotate: Command = {
  name: 'rotate',
  summary: 'Replace the key or the secret of something',
  positionals: [...NAMED_RESOURCE, { name: 'WHAT', isOptional: true }],
  options: [...PATH_OPTIONS, OUTPUT],
  details: `${KIND_HELP}\nWHAT is needed only if there are several. The old one may work for a while: docs/areas says how long.`,
  async run(input, context) {
    const [, , wantedName] = input.positionals
    const prepared = await prepareRequest('get', resourceInput(input), context)
    const all = listSubresourceRoutes(prepared.target, 'POST').flatMap((route) => {
      const name = /^([a-z-]+)\/rotate$/.exec(route.words)?.[1]
      return name === undefined ? [] : [{ name, route }]
    })
    const [found, other] = all.filter(({ name }) => wantedName === undefined || name === wantedName)
    const names = all.map(({ name }) => name).join(', ')
    if (found === undefined) {
      throw usage(`${prepared.collection.noun} have ${names === '' ? 'nothing to rotate' : `only ${names} to rotate`}.`)
    }
    if (other !== undefined) throw usage(`Say which: ${names}.`)
    const answer = await sendToSubresource(prepared, found.route)
    if (answer === undefined) context.terminal.err(`${found.name} of ${input.positionals[1]} was rotated.\n`)
    else show(answer, input, context)
  },
}
