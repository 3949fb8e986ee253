import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { readEvent } from '../../contracts/sources/events.ts'
import { type Claim, claimOf, deliveryKeys, isProved } from '../../contracts/sources/signatures.ts'
import { timestamp } from '../../core/clock.ts'
import { PlatformError } from '../../core/errors.ts'
import { readJson } from '../../core/json.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { accepted } from '../http/answer.ts'
import { credentialsOf, webhookSecretOf } from './connection.ts'
import { type OfType, type SourceRecord, sourceIn, sourcesIn, sourceUnknown } from './record.ts'

export const WebhookReceiptDto = z
  .object({
    deliveryId: z.string(),
    accepted: z.boolean().describe('False for a repeat, and for what changes nothing'),
  })
  .meta({ id: 'WebhookReceiptDto' })

export const WebhookQuery = z.strictObject({ source: z.guid().optional() })
type Delivered = OfType<z.output<typeof WebhookQuery>>

/** Connections that a delivery without a name is tried on. */
const TRIED = 50

function notAcceptable(why: string): PlatformError {
  return new PlatformError('webhook-not-acceptable', `The delivery is not accepted: ${why}.`)
}

/**
 * POST {B}/sources/{sourceName}/webhooks. Nothing of the body is read before its raw bytes are shown to come from who
 * knows the secret; what has no signature of the right form is refused before anything is looked up.
 *
 * @throws PlatformError source-unknown, webhook-not-acceptable, BODY_TOO_LARGE
 */
export async function receiveWebhook(context: Delivered) {
  const { services, query } = context
  const candidates = await candidatesOf(context)
  const [first] = candidates
  if (first === undefined) throw sourceUnknown('A source that this delivery could be of')
  const { provider } = first.spec
  const claim = claimOf(provider, (name) => context.header(name))
  if (claim === undefined) throw notAcceptable('it has no signature, or names no event')
  const body = await bytesOf(context)
  const source = await senderOf(context, candidates, claim, body)
  if (source === undefined) {
    const whose = query.source === undefined ? 'of no source here' : 'not that of the source'
    throw notAcceptable(`its signature is ${whose}`)
  }
  const read = readJson(body)
  const event = 'value' in read ? readEvent(provider, claim.event, read.value) : undefined
  if (event === undefined) throw notAcceptable('it is of a kind that cannot be read')
  const id = claim.deliveryId ?? randomUUID()
  const ref = { namespace: source.metadata.namespace ?? '', name: source.metadata.name }
  const keys = deliveryKeys(claim, body)
  const at = timestamp(services.clock.now())
  const isNew = await services.sources.journal.record(ref, { id, keys, event, at })
  return accepted({ deliveryId: id, accepted: isNew && event.kind !== 'Ignored' })
}

/**
 * The boundary itself is not looked up: anybody may send a delivery, and would learn from another answer, or a slower
 * one, which boundaries there are.
 */
async function candidatesOf(context: Delivered): Promise<readonly SourceRecord[]> {
  const { parameters, query } = context
  const isThere = ({ metadata }: SourceRecord) => metadata.deletionTimestamp === undefined
  const namespace = boundaryNamespace(parameters.boundaryId)
  if (query.source !== undefined)
    return [await sourceIn(context, namespace, query.source.toLowerCase())].filter(isThere)
  return (await sourcesIn(context, namespace)).filter(isThere).slice(0, TRIED)
}

/** @throws PlatformError BODY_TOO_LARGE, webhook-not-acceptable if it does not come to its end */
async function bytesOf({ rawBody }: Delivered): Promise<Uint8Array> {
  try {
    return await rawBody.whole()
  } catch (error) {
    if (error instanceof PlatformError && error.code === 'BODY_TOO_LARGE') throw error
    throw notAcceptable('its body ended too early, or did not arrive in time')
  }
}

/** The connection whose secret the sender knows. */
async function senderOf(
  { services }: Delivered,
  candidates: readonly SourceRecord[],
  claim: Claim,
  body: Uint8Array,
): Promise<SourceRecord | undefined> {
  for (const source of candidates) {
    const secret = webhookSecretOf(await credentialsOf(services, source))
    if (isProved(source.spec.provider, claim, secret, body)) return source
  }
  return undefined
}
