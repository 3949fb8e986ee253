import { MANAGED_BY, MANAGED_BY_LABEL } from '../core/labels.ts'
import type { Log } from '../core/log.ts'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import { type SecretObject, secretData, secretText } from '../core/secretData.ts'
import * as builtin from '../kube/builtin.ts'
import { WatchCache } from '../kube/cache.ts'
import type { KubeClient } from '../kube/client.ts'
import { absent, isKubeError } from '../kube/errors.ts'
import { type KeyRing, parseRing, serializeRing } from './keyRing.ts'

/** A stored ring; `version` is the precondition of the next write. */
export type StoredRing = { ring: KeyRing; version: string }

/** Stores the signing keys that all replicas share. */
export interface KeyStore {
  /** @throws Error if the store does not answer or its content is unreadable */
  read(): Promise<StoredRing | undefined>
  /** Undefined if another replica created it first: read again. */
  create(ring: KeyRing): Promise<StoredRing | undefined>
  /** Undefined if the stored version has changed: read again. */
  replace(ring: KeyRing, version: string): Promise<StoredRing | undefined>
  /** Notifies of changes by anybody, including deletion; the returned function unsubscribes. */
  onChange?(listener: () => void): () => void
}

/** The labels by which the watch selects the Secret. */
export const KEYS_LABELS = { 'app.kubernetes.io/component': 'identity-keys' }

/** Returns the watch by which replicas learn of each other's keys. It sees no other Secret. */
export function watchKeys(client: ConstructorParameters<typeof WatchCache>[0]['client'], log: Log): WatchCache {
  const labelSelector = Object.entries(KEYS_LABELS)
    .map(([key, value]) => `${key}=${value}`)
    .join(',')
  return new WatchCache({ client, resource: builtin.secret, namespace: SYSTEM_NAMESPACE, labelSelector, log })
}

export const KEYS_SECRET = 'freehold-identity-keys'
const ENTRY = 'keys.json'

/** Stores the ring in a Secret. The preconditions of the API server resolve races. */
export function secretKeyStore(
  client: Pick<KubeClient, 'get' | 'create' | 'update'>,
  watch?: Pick<WatchCache, 'subscribe'>,
): KeyStore {
  const ref = { namespace: SYSTEM_NAMESPACE, name: KEYS_SECRET }
  const stored = (secret: SecretObject): StoredRing => ({
    ring: parseRing(secretText(secret.data, ENTRY) ?? ''),
    version: secret.metadata.resourceVersion ?? '',
  })
  const object = (ring: KeyRing, resourceVersion?: string): SecretObject => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      ...ref,
      labels: { [MANAGED_BY_LABEL]: MANAGED_BY, ...KEYS_LABELS },
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    type: 'Opaque',
    data: secretData({ [ENTRY]: serializeRing(ring) }),
  })
  return {
    ...(watch === undefined ? {} : { onChange: (listener) => watch.subscribe(listener) }),
    async read() {
      const found = await client.get<SecretObject>(builtin.secret, ref).catch(absent)
      return found && stored(found)
    },
    async create(ring) {
      try {
        return stored(await client.create<SecretObject>(builtin.secret, object(ring)))
      } catch (error) {
        if (isKubeError(error, 'AlreadyExists')) return undefined
        throw error
      }
    },
    async replace(ring, version) {
      try {
        return stored(await client.update<SecretObject>(builtin.secret, object(ring, version)))
      } catch (error) {
        if (isKubeError(error, 'Conflict', 'NotFound')) return undefined
        throw error
      }
    },
  }
}
