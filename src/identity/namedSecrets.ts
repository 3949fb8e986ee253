import type { Log } from '../core/log.ts'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import type { SecretObject } from '../core/secretData.ts'
import { PlatformClient } from '../crds/identity.ts'
import { SsoConnection } from '../crds/sso.ts'
import * as builtin from '../kube/builtin.ts'
import { type CacheHandler, WatchCache } from '../kube/cache.ts'
import type { KubeClient } from '../kube/client.ts'
import { absent, isKubeError } from '../kube/errors.ts'
import type { KubeObject } from '../kube/object.ts'
import { KeyedQueue } from '../kube/queue.ts'
import { CLIENT_SECRET_KEY } from './clients.ts'

const namespace = SYSTEM_NAMESPACE
const KINDS = [PlatformClient, SsoConnection] as const
type Kind = (typeof KINDS)[number]
type NamingObject = KubeObject & { status?: { missingSecrets?: string[] } }
type Source = Pick<WatchCache<KubeObject>, 'get' | 'list' | 'subscribe'>

/** Returns the Secrets of the system namespace that an object refers to. */
function namesIn(kind: Kind, { spec }: KubeObject): string[] {
  const names =
    kind === PlatformClient
      ? [(spec as PlatformClient['spec']).secretName]
      : (spec as SsoConnection['spec']).identityProviders.map(({ clientSecretName }) => clientSecretName)
  return [...new Set(names.filter((name) => name !== undefined))].sort()
}

type SecretsOptions = { client: Pick<KubeClient, 'list' | 'watchStream'>; log: Log }

/** Watches the metadata of the Secrets in the system namespace, except those of sign-ins, which change constantly. */
export function watchSecretMetadata({ client, log }: SecretsOptions): WatchCache<KubeObject> {
  const labelSelector = 'app.kubernetes.io/component!=identity-state'
  return new WatchCache({ client, resource: builtin.secretMetadata, namespace, labelSelector, log })
}

export type NamedSecretsOptions = {
  client: Pick<KubeClient, 'get' | 'mergePatch'>
  /** The objects of each kind, from a cache. */
  objects: (kind: Kind) => Source
  /** The cache that `watchSecretMetadata` returns. */
  secrets: Pick<WatchCache<KubeObject>, 'get' | 'subscribe' | 'whenSynced'>
  log: Log
}

/**
 * Records in the status of service accounts and of connections to identity providers which of their Secrets are missing
 * or have no `client-secret`. The controllers, which derive conditions from it, may not read Secrets of the system
 * namespace; this part may. It watches metadata only, and reads a Secret when its metadata changes.
 */
export function noteMissingSecrets(options: NamedSecretsOptions): { stop(): Promise<void> } {
  const { objects, secrets, log } = options
  const handle = (key: string) => note(options, key)
  const queue = new KeyedQueue({ name: 'named secrets', handle, workers: 1, log, partyOf: () => '' })
  const enqueue = (kind: Kind, { metadata }: KubeObject) => queue.add(`${kind.resource.plural}/${metadata.name}`)
  /** After a restart, an object that was complete and whose Secrets still exist needs no check. */
  const needsCheck = (kind: Kind, object: NamingObject) =>
    (object.status?.missingSecrets ?? []).length > 0 ||
    namesIn(kind, object).some((name) => secrets.get(namespace, name) === undefined)
  const ends: (() => void)[] = []
  const follow = () => {
    for (const kind of KINDS) {
      const each: CacheHandler<KubeObject> = ({ type, object, previous }) => {
        const isChanged = previous?.metadata.generation !== object.metadata.generation
        if (type === 'added' ? needsCheck(kind, object) : type === 'modified' && isChanged) enqueue(kind, object)
      }
      ends.push(objects(kind).subscribe(each, { replay: true }))
    }
    const naming: CacheHandler<KubeObject> = ({ object: { metadata } }) => {
      for (const kind of KINDS)
        for (const object of objects(kind).list({ namespace }))
          if (namesIn(kind, object).includes(metadata.name)) enqueue(kind, object)
    }
    ends.push(secrets.subscribe(naming))
  }

  queue.start()
  // Rejected if the cache is stopped before it has synced.
  void secrets.whenSynced().then(follow, () => {})
  return {
    async stop() {
      for (const unsubscribe of ends) unsubscribe()
      await queue.shutDown()
    },
  }
}

async function note({ client, objects }: NamedSecretsOptions, key: string): Promise<void> {
  const [plural, name = ''] = key.split('/')
  const kind = KINDS.find(({ resource }) => resource.plural === plural)
  const object: NamingObject | undefined = kind && objects(kind).get(namespace, name)
  if (kind === undefined || object === undefined || object.metadata.deletionTimestamp !== undefined) return
  const missing: string[] = []
  for (const each of namesIn(kind, object)) if (!(await holdsSecret(client, each))) missing.push(each)
  if (missing.join() === (object.status?.missingSecrets ?? []).join()) return
  const patch = { status: { missingSecrets: missing.length === 0 ? null : missing } }
  try {
    const { uid } = object.metadata
    await client.mergePatch(kind.resource, { namespace, name }, patch, { subresource: 'status', uid })
  } catch (error) {
    // The object was deleted or recreated; a new one is checked separately.
    if (!isKubeError(error, 'NotFound', 'Conflict')) throw error
  }
}

/** Reads from the API server, because the watch may not have seen a new Secret yet. */
async function holdsSecret(client: Pick<KubeClient, 'get'>, name: string): Promise<boolean> {
  const found = await client.get<SecretObject>(builtin.secret, { namespace, name }).catch(absent)
  return (found?.data?.[CLIENT_SECRET_KEY] ?? '') !== ''
}
