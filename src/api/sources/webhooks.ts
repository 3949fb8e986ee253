import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { parseSourceEvent } from '../../contracts/sources/events.ts'
import { secretNameOf } from '../../contracts/sources/providers.ts'
import {
  type DeliveryClaim,
  deliveryKeys,
  isDeliveryAuthentic,
  parseDeliveryClaim,
} from '../../contracts/sources/signatures.ts'
import { timestamp } from '../../core/clock.ts'
import { PlatformError } from '../../core/errors.ts'
import { parseStrictJson } from '../../core/json.ts'
import { createLruCache } from '../../core/lruCache.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { pauseFor } from '../../core/pause.ts'
import { accepted } from '../http/answer.ts'
import type { Services } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { Uuid } from '../resources/dto.ts'
import { credentialsOf, webhookSecretOf } from './connection.ts'
import {
  requireProvider,
  type SourceRecord,
  type SourceTypeContext,
  sourceIn,
  sourcesIn,
  sourceUnknown,
} from './record.ts'

export const WebhookReceiptDto = namedRecord('WebhookReceiptDto', {
  deliveryId: z.string(),
  accepted: z.boolean().describe('False for a repeat, and for an event that changes nothing'),
})

export const WebhookQuery = z.strictObject({
  source: Uuid.optional().describe('Id of the deployment source that it is for'),
})
type Delivery = SourceTypeContext<z.output<typeof WebhookQuery>>

/** How many sources are tried for a delivery that names none. */
const TRIED_SOURCES_MAX = 50
/** Milliseconds, more than trying all sources takes. Refusals are delayed to the next multiple of it. */
const REFUSAL_INTERVAL_MS = 1_000
/** Milliseconds for which secrets are kept that deliveries without a source are compared with: anybody causes these reads. */
const SECRETS_TTL_MS = 2_000

const keptSecrets = new WeakMap<object, ReturnType<typeof createLruCache<string, Promise<string>>>>()

const webhookSecretNow = async (services: Services, source: SourceRecord) =>
  webhookSecretOf(await credentialsOf(services, source))

function recentWebhookSecret(services: Services, source: SourceRecord): Promise<string> {
  const { secrets } = services.sources
  const kept = keptSecrets.get(secrets) ?? createLruCache<string, Promise<string>>(10_000, SECRETS_TTL_MS)
  keptSecrets.set(secrets, kept)
  const key = `${source.metadata.namespace}/${secretNameOf(source)}`
  const known = kept.get(key)
  if (known !== undefined) return known
  const reading = webhookSecretNow(services, source)
  kept.set(key, reading)
  reading.catch(() => kept.delete(key))
  return reading
}

function notAcceptable(reason: string): PlatformError {
  return new PlatformError('webhook-not-acceptable', `The delivery is not accepted: ${reason}.`)
}

/**
 * POST {B}/sources/{sourceName}/webhooks. The body is not parsed before its signature is verified.
 * @throws PlatformError source-unknown, webhook-not-acceptable, BODY_TOO_LARGE, TOO_MANY_REQUESTS
 */
export async function receiveWebhook(context: Delivery) {
  const { services, parameters, query } = context
  const provider = requireProvider(context)
  const namespace = boundaryNamespace(parameters.boundaryId)
  const claim = parseDeliveryClaim(provider, (name) => context.header(name))
  const verified =
    query.source === undefined
      ? await verifyAny(context, namespace, claim)
      : await verifyNamed(context, namespace, query.source, claim)
  const { source, body } = verified
  context.prove(`${namespace}/${source.metadata.name}`)
  const read = parseStrictJson(body)
  const event = 'value' in read ? parseSourceEvent(provider, verified.claim.event, read.value) : undefined
  if (event === undefined) throw notAcceptable('it is of a kind that cannot be read')
  const id = verified.claim.deliveryId ?? randomUUID()
  const ref = { namespace: source.metadata.namespace ?? '', name: source.metadata.name }
  const keys = deliveryKeys(verified.claim, body)
  const at = timestamp(services.clock.now())
  const isNew = await services.sources.journal.record(ref, { id, keys, event, at })
  return accepted({ deliveryId: id, accepted: isNew && event.kind !== 'Ignored' })
}

/** A delivery whose signature was made with the secret of the source. */
type Verified = { readonly source: SourceRecord; readonly body: Uint8Array; readonly claim: DeliveryClaim }

const isNotDeleting = ({ metadata }: SourceRecord) => metadata.deletionTimestamp === undefined
const noSourceFound = () => sourceUnknown('The source of this delivery')

/** A sender who names a source knows its id, so the error may say what is wrong. */
async function verifyNamed(
  context: Delivery,
  namespace: string,
  id: string,
  claim: DeliveryClaim | undefined,
): Promise<Verified> {
  const candidate = await sourceIn(context, namespace, id)
  if (!isNotDeleting(candidate)) throw noSourceFound()
  if (claim === undefined) throw notAcceptable('it has no signature, or names no event')
  const body = await bytesOf(context)
  const source = await senderOf([candidate], claim, body, (one) => webhookSecretNow(context.services, one))
  if (source === undefined) throw notAcceptable('its signature does not match the source')
  return { source, body, claim }
}

/**
 * Anybody can send a delivery that names no source. Differences in answer or time would reveal which boundaries exist
 * and where their code comes from. So the boundary is not looked up, and a refusal has the same content and time
 * whether or not there is a source.
 */
async function verifyAny(context: Delivery, namespace: string, claim: DeliveryClaim | undefined): Promise<Verified> {
  if (claim === undefined) throw noSourceFound()
  const body = await bytesOf(context)
  const { services } = context
  const { clock } = services
  const began = clock.monotonic()
  const candidates = (await sourcesIn(context, namespace)).filter(isNotDeleting).slice(0, TRIED_SOURCES_MAX)
  const source = await senderOf(candidates, claim, body, (one) => recentWebhookSecret(services, one))
  if (source !== undefined) return { source, body, claim }
  const elapsed = clock.monotonic() - began
  await pauseFor(clock, Math.ceil(elapsed / REFUSAL_INTERVAL_MS) * REFUSAL_INTERVAL_MS - elapsed, context.signal)
  throw noSourceFound()
}

/** @throws PlatformError BODY_TOO_LARGE, webhook-not-acceptable if it is incomplete */
async function bytesOf({ rawBody }: Delivery): Promise<Uint8Array> {
  try {
    return await rawBody.whole()
  } catch (error) {
    if (error instanceof PlatformError && error.code === 'BODY_TOO_LARGE') throw error
    throw notAcceptable('its body ended too early, or did not arrive in time')
  }
}

/** Returns the source whose secret verifies the delivery. */
async function senderOf(
  candidates: readonly SourceRecord[],
  claim: DeliveryClaim,
  body: Uint8Array,
  secretOf: (source: SourceRecord) => Promise<string>,
): Promise<SourceRecord | undefined> {
  for (const source of candidates) {
    if (isDeliveryAuthentic(source.spec.provider, claim, await secretOf(source), body)) return source
  }
  return undefined
}
