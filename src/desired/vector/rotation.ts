import { acceptsTwoKeys, type VectorKey, type VectorKeys } from '../../contracts/vector.ts'
import type { PodKeys } from './types.ts'

/**
 * Returns the keys before the workload changes: generated if there are none, and with a pending generation if the spec
 * asks for a newer one. A rotation in progress finishes before the next begins. Returns the same object if nothing
 * changed.
 *
 * @param peersMayRun whether a workload was given keys before: if the Secret was lost, no key is known to work, so the
 *   new one is pending until the peers have it
 * @param generate creates a generation of random keys
 */
export function wantedKeys(
  stored: VectorKeys | undefined,
  version: number,
  options: { peersMayRun: boolean; now: string; generate: (version: number) => VectorKey },
): VectorKeys {
  if (stored === undefined) {
    const key = options.generate(version)
    const [current, pending] = options.peersMayRun ? [undefined, key] : [key, undefined]
    return { current, pending, retired: undefined, createdAt: options.now, rotatedAt: undefined }
  }
  const { current, pending, retired } = stored
  if (pending !== undefined || retired !== undefined || current === undefined || version <= current.version)
    return stored
  return { ...stored, pending: options.generate(version) }
}

/**
 * Returns the keys that a pod starting now accepts. While a key is pending, engines that support two keys also accept
 * the current one, so that it works on every peer until the last peer has the new key.
 */
export function podKeys(keys: VectorKeys, vectorVersion: string): PodKeys | undefined {
  const { current, pending } = keys
  if (pending === undefined) return current === undefined ? undefined : { main: current, alternative: undefined }
  return { main: pending, alternative: acceptsTwoKeys(vectorVersion) ? current : undefined }
}

/**
 * Returns the keys once every peer runs with `podKeys`: the pending generation becomes current. The previous one is
 * kept as retired while pods may still use it, and dropped one rollout later.
 */
export function promotePendingKey(keys: VectorKeys, vectorVersion: string, now: string): VectorKeys {
  const { current, pending, retired } = keys
  if (pending !== undefined) {
    const former = acceptsTwoKeys(vectorVersion) ? current : undefined
    return { ...keys, current: pending, pending: undefined, retired: former, rotatedAt: now }
  }
  return retired === undefined ? keys : { ...keys, retired: undefined }
}
