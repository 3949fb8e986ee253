import {
  INCARNATION_ANNOTATION,
  MANAGED_BY_LABEL,
  OWNER_INCARNATION_ANNOTATION,
  OWNER_KIND_LABEL,
  OWNER_NAME_LABEL,
} from '../../core/labels.ts'
import type { KubeObject, ObjectMeta } from '../../core/object.ts'
import { type SecretData, secretData, secretText } from '../../core/secretData.ts'
import { LIFE_LABEL, valueNames } from './names.ts'

type Entry = { apiVersion: string; kind: string; metadata: ObjectMeta }

const ENTRY = 'jwe'
/** Entry in the Secret of a key: a copy of the newest value, so that reading it is one call. It may be stale. */
const NEWEST = 'newest'

/** Returns the selector of the Secrets of an entry, of one life or of all. */
export function valueSelector(entry: string, life?: number): string {
  const { owner } = valueNames(entry, life ?? 0)
  const all = `${OWNER_KIND_LABEL}=VaultEntry,${OWNER_NAME_LABEL}=${owner}`
  return life === undefined ? all : `${all},${LIFE_LABEL}=${life}`
}

/**
 * Builds a Secret with one JWE. It lacks the label by which the controllers watch Secrets: they have no use for ten
 * thousand values in their memory.
 */
export function buildJweSecret(
  entry: Entry,
  life: number,
  kind: 'key' | 'value',
  name: string,
  jwe: string,
): KubeObject {
  const { namespace, name: entryName, uid = '', annotations } = entry.metadata
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: `freehold.dev/vault-${kind}`,
    // A version never changes; a key is re-wrapped when the platform key is replaced.
    ...(kind === 'value' && { immutable: true }),
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      labels: {
        [MANAGED_BY_LABEL]: 'freehold-vaults',
        [OWNER_KIND_LABEL]: entry.kind,
        [OWNER_NAME_LABEL]: valueNames(entryName, life).owner,
        [LIFE_LABEL]: String(life),
      },
      annotations: { [OWNER_INCARNATION_ANNOTATION]: annotations?.[INCARNATION_ANNOTATION] ?? '' },
      ownerReferences: [
        {
          apiVersion: entry.apiVersion,
          kind: entry.kind,
          name: entryName,
          uid,
          controller: false,
          blockOwnerDeletion: false,
        },
      ],
    },
    data: encodeJwe(jwe),
  }
}

export function encodeJwe(jwe: string): SecretData {
  return secretData({ [ENTRY]: jwe })
}

/** Returns undefined if the content was removed. */
export function decodeJwe(data: SecretData | undefined): string | undefined {
  return secretText(data, ENTRY)
}

export function encodeNewestValue(jwe: string): SecretData {
  return secretData({ [NEWEST]: jwe })
}

export function decodeNewestValue(data: SecretData | undefined): string | undefined {
  return secretText(data, NEWEST)
}
