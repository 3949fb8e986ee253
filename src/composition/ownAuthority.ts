import { randomBytes } from 'node:crypto'
import type { Clock } from '../core/clock.ts'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { KubeObject } from '../core/object.ts'
import { runPeriodically } from '../core/runPeriodically.ts'
import { WEBHOOK_CONFIGURATION, WEBHOOK_NAME, WEBHOOK_SERVICE } from '../core/webhook.ts'
import { validatingWebhookConfiguration } from '../kube/builtin.ts'
import type { KubeClient } from '../kube/client.ts'
import { ignoreKubeAlreadyExists, isKubeError } from '../kube/errors.ts'
import type { CertificatePair } from './certificates.ts'
import { createSecretTexts, readSecretTexts } from './secretTexts.ts'

const SECRET = 'freehold-webhook-authority'
/** Milliseconds between checks: applying the manifest again removes the authority. */
const CHECK_INTERVAL_MS = 60_000

export type OwnAuthority = CertificatePair & {
  /** Known only to the API server, so that nobody else can send reviews. */
  path: string
}

type Client = Pick<KubeClient, 'get' | 'create' | 'apply'>

const toBase64 = (text: string) => Buffer.from(text).toString('base64')

/** Returns the authority that all replicas share; created if missing. To replace it, delete the Secret and restart. */
export async function openOwnAuthority(
  client: Pick<KubeClient, 'get' | 'create'>,
  now: Date,
  { name, commonName }: { name: string; commonName: string } = { name: SECRET, commonName: 'freehold webhooks' },
): Promise<OwnAuthority> {
  const read = async () => {
    const texts = await readSecretTexts(client, name)
    return { certPem: texts['ca.crt'] ?? '', keyPem: texts['ca.key'] ?? '', path: texts.path ?? '' }
  }
  try {
    return await read()
  } catch (error) {
    if (!isKubeError(error, 'NotFound')) throw error
  }
  const { createAuthority } = await import('./certificates.ts')
  const { certPem, keyPem } = await createAuthority(commonName, now)
  // In hex, because the API server does not accept capital letters in the path.
  const path = `/admit/${randomBytes(24).toString('hex')}`
  await createSecretTexts(client, name, { 'ca.crt': certPem, 'ca.key': keyPem, path }).catch(ignoreKubeAlreadyExists)
  return read()
}

type WebhookConfiguration = KubeObject & {
  webhooks?: { name: string; clientConfig: { caBundle?: string; service?: { path?: string } } }[]
}

/**
 * Writes authority and path into the webhook configuration if they differ. What the Secret holds counts: somebody may
 * have replaced it, and another replica may use that already. Returns false if there is no configuration.
 *
 * @param adopt called before the API server is told of another authority
 */
export async function publishWebhookAuthority(
  client: Client,
  used: OwnAuthority,
  adopt: (authority: OwnAuthority) => Promise<void>,
): Promise<boolean> {
  const ref = { name: WEBHOOK_CONFIGURATION }
  let stored: WebhookConfiguration
  try {
    stored = await client.get<WebhookConfiguration>(validatingWebhookConfiguration, ref)
  } catch (error) {
    if (isKubeError(error, 'NotFound')) return false
    throw error
  }
  const known = stored.webhooks?.find(({ name }) => name === WEBHOOK_NAME)?.clientConfig
  if (known?.caBundle === toBase64(used.certPem) && known.service?.path === used.path) return true
  const authority = await openOwnAuthority(client, new Date())
  if (authority.certPem !== used.certPem || authority.path !== used.path) await adopt(authority)
  const webhook = {
    name: WEBHOOK_NAME,
    clientConfig: {
      caBundle: toBase64(authority.certPem),
      service: { ...WEBHOOK_SERVICE, path: authority.path },
    },
  }
  const { apiVersion, kind } = stored
  await client.apply(
    validatingWebhookConfiguration,
    { apiVersion, kind, metadata: ref, webhooks: [webhook] } as KubeObject,
    { force: true },
  )
  return true
}

/** Publishes now, and again whenever it was overwritten. Failures are logged; tenants' writes are refused then. */
export function keepAuthorityPublished(
  client: Client,
  used: () => OwnAuthority,
  adopt: (authority: OwnAuthority) => Promise<void>,
  { clock, log }: { clock: Pick<Clock, 'setTimeout'>; log: Log },
): { stop(): void } {
  const publish = async () => {
    if (await publishWebhookAuthority(client, used(), adopt)) return
    log.warn({ name: WEBHOOK_CONFIGURATION }, 'The webhook configuration is not installed.')
  }
  const failed = 'The webhook configuration is not complete.'
  void publish().catch((error: unknown) => log.warn({ error: messageOf(error) }, failed))
  return runPeriodically(publish, CHECK_INTERVAL_MS, { clock, log, failed })
}
