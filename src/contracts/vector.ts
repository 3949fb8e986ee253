import { childName } from '../core/names.ts'
import { type SecretData, secretData, secretText } from '../core/secretData.ts'

/**
 * What the facade and the controller of vector databases share: names of children, addresses of the engine, and the
 * layout of the Secret with the keys. No other code may guess these.
 */

/** The engine's fixed ports: REST, gRPC, and traffic between peers (Qdrant, `config/config.yaml`). */
export const VECTOR_PORTS = { rest: 6333, grpc: 6334, peer: 6335 } as const
export const VECTOR_KEY_HEADER = 'api-key'

/** Names of a vector database's children, all in its own namespace. */
export type VectorNames = {
  /** StatefulSet, client Service, PodDisruptionBudget, Ingress, HTTPRoute and NetworkPolicy. */
  workload: string
  /** Headless Service of the peers. */
  peers: string
  /** The Service of type LoadBalancer. */
  publicService: string
  config: string
  /** The Secret of the keys. */
  keys: string
}

export function vectorNames(name: string): VectorNames {
  return {
    workload: childName('vc', name),
    // A prefix, because with a suffix the Services of `a` would collide with those of `a-peers`.
    peers: childName('vcpeers', name),
    publicService: childName('vcpublic', name),
    config: childName('vc', name, 'config'),
    keys: childName('vc', name, 'apikey'),
  }
}

/** Returns where clients inside the cluster reach the engine (records of the interface: VectorConnectionInfo). */
export function vectorEndpoints(namespace: string, name: string): { host: string; rest: string; grpc: string } {
  const host = `${vectorNames(name).workload}.${namespace}.svc`
  return { host, rest: `http://${host}:${VECTOR_PORTS.rest}`, grpc: `http://${host}:${VECTOR_PORTS.grpc}` }
}

/** One generation of keys. `id` is random and reveals nothing; pods carry it, so that a new key restarts them. */
export type VectorKey = { version: number; id: string; apiKey: string; readOnlyApiKey: string }

/**
 * The content of the Secret of the keys. `current` works on every serving peer; `pending` is being rolled out to the
 * peers; `retired` worked before and is dropped when no pod can ask for it any more. `current` is absent only if the
 * Secret was lost while peers ran: then no key is known to work until the pending one has reached all of them.
 */
export type VectorKeys = {
  current: VectorKey | undefined
  pending: VectorKey | undefined
  retired: VectorKey | undefined
  /** RFC 3339. */
  createdAt: string
  rotatedAt: string | undefined
}

const API_KEY = 'api-key'
const READ_ONLY_API_KEY = 'read-only-api-key'

/** The entry of the Secret from which pods of a rollout take the key of a version. */
export function apiKeyEntry(version: number): string {
  return `${API_KEY}.v${version}`
}
export function readOnlyApiKeyEntry(version: number): string {
  return `${READ_ONLY_API_KEY}.v${version}`
}

/**
 * Encodes the `data` of the Secret. `api-key` and `read-only-api-key` are always the working keys, for anybody who
 * mounts the Secret; in addition each generation has entries of its own, to which pod templates refer.
 */
export function encodeVectorKeys(keys: VectorKeys): SecretData {
  const entries: Record<string, string> = { 'created-at': keys.createdAt }
  if (keys.rotatedAt !== undefined) entries['rotated-at'] = keys.rotatedAt
  for (const role of ['current', 'pending', 'retired'] as const) {
    const key = keys[role]
    if (key === undefined) continue
    entries[`${role}-version`] = String(key.version)
    entries[`key-id.v${key.version}`] = key.id
    entries[apiKeyEntry(key.version)] = key.apiKey
    entries[readOnlyApiKeyEntry(key.version)] = key.readOnlyApiKey
  }
  if (keys.current !== undefined) {
    entries[API_KEY] = keys.current.apiKey
    entries[READ_ONLY_API_KEY] = keys.current.readOnlyApiKey
  }
  return secretData(entries)
}

/** Decodes the Secret. A generation with a missing part counts as absent: half a key is not a key. */
export function decodeVectorKeys(data: SecretData | undefined): VectorKeys | undefined {
  if (data === undefined) return undefined
  const text = (name: string) => secretText(data, name)
  const generation = (role: string): VectorKey | undefined => {
    const version = Number(text(`${role}-version`))
    if (!Number.isSafeInteger(version) || version < 1) return undefined
    const [id, apiKey, readOnlyApiKey] = [
      text(`key-id.v${version}`),
      text(apiKeyEntry(version)),
      text(readOnlyApiKeyEntry(version)),
    ]
    if (id === undefined || apiKey === undefined || readOnlyApiKey === undefined) return undefined
    return { version, id, apiKey, readOnlyApiKey }
  }
  const keys = { current: generation('current'), pending: generation('pending'), retired: generation('retired') }
  if (keys.current === undefined && keys.pending === undefined) return undefined
  return { ...keys, createdAt: text('created-at') ?? '', rotatedAt: text('rotated-at') }
}

/** The first version whose engine accepts two keys at once (`service.alt_api_key`, qdrant/qdrant 7835). */
const FIRST_MINOR_WITH_TWO_KEYS = 17

export function acceptsTwoKeys(vectorVersion: string): boolean {
  const [major, minor] = vectorVersion.split('.').map(Number)
  return major === 1 && minor !== undefined && minor >= FIRST_MINOR_WITH_TWO_KEYS
}
