import { randomBytes } from 'node:crypto'
import { setInterval } from 'node:timers'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { KubeObject } from '../core/object.ts'
import { WEBHOOK_CONFIGURATION, WEBHOOK_NAME, WEBHOOK_SERVICE } from '../core/webhook.ts'
import { validatingWebhookConfiguration } from '../kube/builtin.ts'
import type { KubeClient } from '../kube/client.ts'
import { alreadyThere, isKubeError } from '../kube/errors.ts'
import type { CertificatePair } from './certificates.ts'
import { createTexts, readTexts } from './secretTexts.ts'

const SECRET = 'freehold-webhook-authority'
/** Milliseconds: somebody may have applied the manifest anew, which leaves the authority out. */
const LOOK_AGAIN = 60_000

export type OwnAuthority = CertificatePair & {
  /** Only the API server is told this path: nobody else can ask what somebody may do, nor keep us busy. */
  path: string
}

type Client = Pick<KubeClient, 'get' | 'create' | 'apply'>

const encode = (text: string) => Buffer.from(text).toString('base64')

/** The authority that all replicas share, made by whichever is first. To replace it, delete the Secret and restart. */
export async function openOwnAuthority(
  client: Pick<KubeClient, 'get' | 'create'>,
  now: Date,
  { name, commonName }: { name: string; commonName: string } = { name: SECRET, commonName: 'freehold webhooks' },
): Promise<OwnAuthority> {
  const read = async () => {
    const texts = await readTexts(client, name)
    return { certPem: texts['ca.crt'] ?? '', keyPem: texts['ca.key'] ?? '', path: texts.path ?? '' }
  }
  try {
    return await read()
  } catch (error) {
    if (!isKubeError(error, 'NotFound')) throw error
  }
  const { createAuthority } = await import('./certificates.ts')
  const { certPem, keyPem } = await createAuthority(commonName, now)
  // Hexadecimal: the API server takes no path with capital letters.
  const path = `/admit/${randomBytes(24).toString('hex')}`
  await createTexts(client, name, { 'ca.crt': certPem, 'ca.key': keyPem, path }).catch(alreadyThere)
  return read()
}

type WebhookConfiguration = KubeObject & {
  webhooks?: { name: string; clientConfig: { caBundle?: string; service?: { path?: string } } }[]
}

/** Writes authority and path into the webhook configuration where they are not in it. False if there is none. */
export async function announce(client: Client, { certPem, path }: OwnAuthority): Promise<boolean> {
  const ref = { name: WEBHOOK_CONFIGURATION }
  let stored: WebhookConfiguration
  try {
    stored = await client.get<WebhookConfiguration>(validatingWebhookConfiguration, ref)
  } catch (error) {
    if (isKubeError(error, 'NotFound')) return false
    throw error
  }
  const known = stored.webhooks?.find(({ name }) => name === WEBHOOK_NAME)?.clientConfig
  if (known?.caBundle === encode(certPem) && known.service?.path === path) return true
  const webhook = {
    name: WEBHOOK_NAME,
    clientConfig: { caBundle: encode(certPem), service: { ...WEBHOOK_SERVICE, path } },
  }
  const { apiVersion, kind } = stored
  await client.apply(
    validatingWebhookConfiguration,
    { apiVersion, kind, metadata: ref, webhooks: [webhook] } as KubeObject,
    { force: true },
  )
  return true
}

/** Announces now and whenever it was lost. A failure is logged: until then tenants' writes are refused. */
export function keepAnnounced(client: Client, authority: OwnAuthority, log: Log): { stop(): void } {
  const once = () =>
    announce(client, authority).then(
      (isThere) => {
        if (!isThere) log.warn({ name: WEBHOOK_CONFIGURATION }, 'The webhook configuration is not installed.')
      },
      (error: unknown) =>
        log.warn(
          { name: WEBHOOK_CONFIGURATION, error: messageOf(error) },
          'The webhook configuration is not complete.',
        ),
    )
  void once()
  const timer = setInterval(() => void once(), LOOK_AGAIN)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}
