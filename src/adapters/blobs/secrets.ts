import type { KubeClient } from '../../kube/client.ts'
import type { BlobStore } from './port.ts'
import { secret, secretValues } from './secretValues.ts'

/** The API server accepts Secrets up to 1 MiB, and base64 adds a third. */
const MAX_BYTES = 512 * 1024

export function secretBlobs(client: Pick<KubeClient, 'get' | 'create' | 'mergePatch' | 'remove'>): BlobStore {
  const values = secretValues(client, 'blob')
  return {
    maxBytes: MAX_BYTES,
    read: (ref) => values.read(ref),
    async write(ref, bytes, { version, owner }) {
      if (bytes.byteLength > MAX_BYTES) throw new RangeError(`A blob has at most ${MAX_BYTES} bytes.`)
      const { labels, ...reference } = owner
      const written = await values.write(ref, bytes, { version, labels, ownerReferences: [reference] })
      return written !== undefined
    },
    async remove(ref) {
      await client.remove(secret, ref)
    },
  }
}
