import { pagesOf, type QueryValue } from '../client/index.ts'
import { isRecord } from '../core/isRecord.ts'
import { isSecret, parseJsonAnswer } from './answers.ts'
import { nameFieldOf } from './collections.ts'
import { usage } from './failure.ts'
import { type PreparedRequest, requestRawAnswer, send } from './requests.ts'

/** A record without secrets, and the routes that were left out; an empty string is the resource itself. */
export type RedactedRecord = { readonly record: unknown; readonly hidden: string[] }

/**
 * Reads a record without revealing secrets. If the record itself is secret, uses its entry in the list instead, which
 * anyone who may list can see.
 *
 * @throws CommandFailure (usage) if the list has no such entry
 */
export async function readRedactedRecord(prepared: PreparedRequest, name: string): Promise<RedactedRecord> {
  if (prepared.target.route.isData !== true) {
    const answer = await requestRawAnswer(prepared)
    if (!isSecret(answer)) return { record: parseJsonAnswer(answer), hidden: [] }
  }
  return { record: await entryOf(prepared, name), hidden: [''] }
}

async function entryOf({ client, collection, target }: PreparedRequest, name: string): Promise<unknown> {
  const { route, values } = target
  const path = route.path.split('/').slice(0, -1).join('/')
  const list = collection.routes.find((each) => each.verb === 'list' && each.path === path)
  const field = nameFieldOf(collection)
  if (list === undefined) return { [field]: name }
  const fetchPage = (query: Record<string, QueryValue>) =>
    send({ client, target: { route: list, values }, query: list.paged === true ? { ...query, pageSize: 500 } : {} })
  for await (const item of pagesOf(fetchPage, {}))
    if (isRecord(item) && [item[field], item.name, item.id].includes(name)) return item
  throw usage(`There is no ${collection.singular} "${name}" there.`)
}
