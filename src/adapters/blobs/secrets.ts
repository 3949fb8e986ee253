import { MANAGED_BY, MANAGED_BY_LABEL } from '../../core/labels.ts'
import type { KubeObject, Resource } from '../../core/object.ts'
import type { KubeClient } from '../../kube/client.ts'
import type { BlobStore } from './port.ts'

const secret: Resource = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true }
const ENTRY = 'blob'
/** The API server takes a Secret of 1 MiB, and what is in it grows by a third on the way. */
const MAX_BYTES = 512 * 1024

type SecretObject = KubeObject & { data?: Record<string, string> }

/** Blobs in Secrets: nothing more to install, and encrypted where Secrets are. */
export function secretBlobs(client: Pick<KubeClient, 'get' | 'create' | 'mergePatch' | 'remove'>): BlobStore {
  return {
    maxBytes: MAX_BYTES,

    async read(ref) {
      try {
        const found = await client.get<SecretObject>(secret, ref)
        return {
          bytes: Buffer.from(found.data?.[ENTRY] ?? '', 'base64'),
          version: found.metadata.resourceVersion ?? '',
        }
      } catch (error) {
        if (reasonOf(error) === 'NotFound') return undefined
        throw error
      }
    },

    async write(ref, bytes, { version, owner }) {
      if (bytes.byteLength > MAX_BYTES) throw new RangeError(`A blob has at most ${MAX_BYTES} bytes.`)
      const data = { [ENTRY]: Buffer.from(bytes).toString('base64') }
      try {
        if (version === undefined) await client.create(secret, newSecret(ref, data, owner))
        else await client.mergePatch(secret, ref, { data }, { resourceVersion: version })
        return true
      } catch (error) {
        if (['AlreadyExists', 'Conflict', 'NotFound'].includes(reasonOf(error))) return false
        throw error
      }
    },

    async remove(ref) {
      await client.remove(secret, ref)
    },
  }
}

function newSecret(
  { namespace, name }: { namespace: string; name: string },
  data: Record<string, string>,
  owner: Parameters<BlobStore['write']>[2]['owner'],
): KubeObject {
  const { apiVersion, kind, name: ownerName, uid, labels } = owner
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name,
      namespace,
      labels: { ...labels, [MANAGED_BY_LABEL]: MANAGED_BY },
      ownerReferences: [{ apiVersion, kind, name: ownerName, uid }],
    },
    type: 'Opaque',
    data,
  }
}

function reasonOf(error: unknown): string {
  const { reason } = (error ?? {}) as { reason?: unknown }
  return typeof reason === 'string' ? reason : ''
}
