import type { Flow } from '../flow.ts'
import { appFlows } from './apps.ts'
import { blueprintFlows } from './blueprints.ts'
import { boundaryFlows } from './boundaries.ts'
import { clusterFlows } from './clusters.ts'
import { containerFlows } from './containerinstances.ts'
import { crosslinkFlows } from './crosslink.ts'
import { functionFlows } from './functions.ts'
import { iamFlows } from './iam.ts'
import { identityFlows } from './identities.ts'
import { jobFlows } from './jobs.ts'
import { lifecycleFlows } from './lifecycle.ts'
import { monitoringFlows } from './monitoring.ts'
import { storageFlows } from './objectstorage.ts'
import { platformBackupFlows } from './platformbackups.ts'
import { registryFlows } from './registry.ts'
import { relationalFlows } from './relational.ts'
import { rolloutFlows } from './rollouts.ts'
import { sourceFlows } from './sources.ts'
import { sqlFlows } from './sql.ts'
import { siteFlows } from './staticwebapps.ts'
import { vaultFlows } from './vaults.ts'
import { vectorFlows } from './vector.ts'

/** What users do, area by area; each flow is played with a death of the operator at each of its writes. */
export const FLOWS: readonly Flow[] = [
  ...boundaryFlows,
  ...iamFlows,
  ...identityFlows,
  ...vectorFlows,
  ...relationalFlows,
  ...sqlFlows,
  ...vaultFlows,
  ...storageFlows,
  ...jobFlows,
  ...blueprintFlows,
  ...containerFlows,
  ...appFlows,
  ...functionFlows,
  ...siteFlows,
  ...sourceFlows,
  ...registryFlows,
  ...rolloutFlows,
  ...clusterFlows,
  ...monitoringFlows,
  ...crosslinkFlows,
  ...platformBackupFlows,
  ...lifecycleFlows,
]
