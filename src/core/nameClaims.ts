import { sha256 } from './names.ts'

export type ClaimType = 'Host' | 'Vault' | 'StorageAccount' | 'StoreBucket' | 'FunctionPath'

/** Returns a name derived from what is claimed, so that etcd decides who was first. */
export function claimName(type: ClaimType, value: string): string {
  return sha256(`${type}/${value}`).slice(0, 63)
}

/** Milliseconds within which the holder of a claim is created; after that, it never will be. */
export const CLAIM_HOLDER_TIMEOUT_MS = 60_000
