import type { KubeObject } from '../../core/object.ts'
import { originStore, ownStore, scheduledBackup } from './backup.ts'
import { postgresqlClusterObject } from './cluster.ts'
import { databaseObject, loadBalancer, policy, pooler, primaryService, replicaService } from './network.ts'
import type { RelationalInput } from './types.ts'

export {
  destinationPath,
  snapshotBackup,
  storeRetention,
  TARGET_KEYS,
  targetSecret,
} from './backup.ts'
export { HIBERNATION_ANNOTATION, RESTARTED_AT_ANNOTATION, relationalImage } from './cluster.ts'
export { LOGINS, type Login, loginSecret } from './logins.ts'
export { archivingGaps, type EngineView, recoveryOf } from './recovery.ts'
export {
  type BackupDestination,
  type BackupTarget,
  type Origin,
  type RelationalInput,
  relationalInput,
} from './types.ts'

/**
 * Returns the children of a relational database in the order of creation, stores before the Cluster that references
 * them. Secrets are created before. Other children are pruned.
 */
export function relationalChildren(input: RelationalInput): KubeObject[] {
  const objects = [
    policy(input),
    primaryService(input),
    replicaService(input),
    loadBalancer(input),
    originStore(input),
    ownStore(input),
    postgresqlClusterObject(input),
    databaseObject(input),
    pooler(input),
    scheduledBackup(input),
  ]
  return objects.filter((object) => object !== undefined)
}
