import { acceptsTwoKeys, type VectorKey, type VectorKeys } from '../../contracts/vector.ts'
import type { PodKeys } from './types.ts'

/**
 * The keys before anything is written to the workload: made if there are none, with a pending generation where the
 * spec asks for a newer one. A rotation under way is finished before the next begins. The same object comes back where
 * nothing is to be written.
 *
 * @param peersMayRun whether a workload exists that was given keys before: then no key is known to work once the
 *   Secret is lost, and the new one is pending until the peers have it
 * @param generate makes a generation of random keys
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
 * What a pod that starts now accepts. While a key is pending, engines that can accept the one before too, so that the
 * working key works on every peer until the last one has the new key.
 */
export function podKeys(keys: VectorKeys, vectorVersion: string): PodKeys | undefined {
  const { current, pending } = keys
  if (pending === undefined) return current === undefined ? undefined : { main: current, alternative: undefined }
  return { main: pending, alternative: acceptsTwoKeys(vectorVersion) ? current : undefined }
}

/**
 * The keys after every peer runs with what `podKeys` said: the pending generation becomes the working one; the one
 * before is kept as retired while pods may still be told of it, and forgotten one rollout later.
 */
export function settledKeys(keys: VectorKeys, vectorVersion: string, now: string): VectorKeys {
  const { current, pending, retired } = keys
  if (pending !== undefined) {
    const former = acceptsTwoKeys(vectorVersion) ? current : undefined
    return { ...keys, current: pending, pending: undefined, retired: former, rotatedAt: now }
  }
  return retired === undefined ? keys : { ...keys, retired: undefined }
}
