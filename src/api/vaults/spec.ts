import type { z } from 'zod'
import type { SecretVault } from '../../crds/vaults.ts'
import { isEqual } from '../records/mergePatch.ts'
import { chooseCluster } from '../resources/chooseCluster.ts'
import type { WriteView } from '../resources/types.ts'
import type { VaultRecord, vaultRecord } from './record.ts'

export type VaultBody = z.output<typeof vaultRecord.body>

/** The spec for a body: absent fields take their defaults, absent immutable ones stay. @throws PlatformError CLUSTER_NOT_PROJECTED */
export function vaultSpec(body: VaultBody, view: WriteView<typeof SecretVault>): object {
  const { clusterId, ...rest } = body
  return { ...rest, clusterId: chooseCluster(clusterId, view) }
}

/** What a merge patch is laid over. */
export function vaultBody({ spec }: VaultRecord): VaultBody {
  return Object.fromEntries(Object.entries(spec).filter(([, value]) => !isEqual(value, undefined))) as VaultBody
}
