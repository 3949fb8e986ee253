import type { BlobStore } from './port.ts'

/** A blob store in memory with the same guarantees. */
export function fakeBlobs(maxBytes = 512 * 1024): BlobStore {
  const blobs = new Map<string, { bytes: Uint8Array; version: string }>()
  let count = 0
  return {
    maxBytes,
    async read({ namespace, name }) {
      return blobs.get(`${namespace}/${name}`)
    },
    async write({ namespace, name }, bytes, { version }) {
      if (bytes.byteLength > maxBytes) throw new RangeError(`A blob has at most ${maxBytes} bytes.`)
      const key = `${namespace}/${name}`
      if (blobs.get(key)?.version !== version) return false
      count += 1
      blobs.set(key, { bytes, version: String(count) })
      return true
    },
    async remove({ namespace, name }) {
      blobs.delete(`${namespace}/${name}`)
    },
  }
}
