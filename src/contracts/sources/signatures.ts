import { createHmac } from 'node:crypto'
import { sha256 } from '../../core/names.ts'
import { isSameText } from '../../core/sameText.ts'
import type { Provider } from './providers.ts'

/** Returns a header of a delivery. Headers are checked before the body is read. */
export type DeliveryHeaders = (name: string) => string | undefined

type Form = {
  /** How the sender proves that it knows the secret: an HMAC of the raw bytes, or, with GitLab, the secret itself. */
  readonly proof: { readonly header: string; readonly pattern: RegExp; readonly isSecretItself?: true }
  readonly event: string
  /** Headers that may name the delivery; the first one present counts. */
  readonly delivery: readonly string[]
}

const HEX = /^([0-9a-f]{64})$/
const PREFIXED_HEX = /^sha256=([0-9a-f]{64})$/
const TOKEN = /^([!-~]{16,256})$/

const GITEA: Form = {
  proof: { header: 'x-gitea-signature', pattern: HEX },
  event: 'x-gitea-event',
  delivery: ['x-gitea-delivery'],
}

/** As each provider documents its webhooks; a registry sends none. */
const FORMS: Readonly<Record<Provider, Form | undefined>> = {
  GitHub: {
    proof: { header: 'x-hub-signature-256', pattern: PREFIXED_HEX },
    event: 'x-github-event',
    delivery: ['x-github-delivery'],
  },
  GitLab: {
    proof: { header: 'x-gitlab-token', pattern: TOKEN, isSecretItself: true },
    event: 'x-gitlab-event',
    delivery: ['idempotency-key', 'x-gitlab-event-uuid'],
  },
  Gitea: GITEA,
  Circuit: GITEA,
  Bitbucket: {
    proof: { header: 'x-hub-signature', pattern: PREFIXED_HEX },
    event: 'x-event-key',
    delivery: ['x-request-uuid'],
  },
  // For a hook that somebody wrote: it signs as GitHub does.
  Git: {
    proof: { header: 'x-hub-signature-256', pattern: PREFIXED_HEX },
    event: 'x-freehold-event',
    delivery: ['x-freehold-delivery'],
  },
  Registry: undefined,
}

export function sendsWebhooks(provider: Provider): boolean {
  return FORMS[provider] !== undefined
}

const SHORT_TEXT = /^[!-~][ -~]{0,127}$/

/** What a sender claims. `parseDeliveryClaim` returns undefined if a header is missing or malformed. */
export type DeliveryClaim = { readonly proof: string; readonly event: string; readonly deliveryId: string | undefined }

export function parseDeliveryClaim(provider: Provider, header: DeliveryHeaders): DeliveryClaim | undefined {
  const form = FORMS[provider]
  if (form === undefined) return undefined
  const proof = form.proof.pattern.exec(header(form.proof.header) ?? '')?.[1]
  const event = header(form.event) ?? ''
  if (proof === undefined || !SHORT_TEXT.test(event)) return undefined
  const deliveryId = form.delivery.map(header).find((id) => id !== undefined && SHORT_TEXT.test(id))
  return { proof, event, deliveryId }
}

/** Whether the sender of exactly these bytes knows the secret; compares in constant time. */
export function isDeliveryAuthentic(
  provider: Provider,
  claim: DeliveryClaim,
  secret: string,
  body: Uint8Array,
): boolean {
  if (secret.length < 16) return false
  const expected = FORMS[provider]?.proof.isSecretItself
    ? sha256(secret)
    : createHmac('sha256', secret).update(body).digest('hex')
  const presented = FORMS[provider]?.proof.isSecretItself ? sha256(claim.proof) : claim.proof
  return isSameText(expected, presented)
}

/**
 * Returns the keys by which a repeat is recognised: the id of the delivery, and its content. Providers do not sign the
 * id, so an eavesdropper could replay a delivery under another one.
 */
export function deliveryKeys(claim: DeliveryClaim, body: Uint8Array): string[] {
  const content = `c${sha256(body).slice(0, 20)}`
  return claim.deliveryId === undefined ? [content] : [`d${sha256(claim.deliveryId).slice(0, 20)}`, content]
}
