import { sqlNames } from '../../contracts/sql.ts'
import { newestSqlVersion, SqlInstance } from '../../crds/sql.ts'
import { configMap, networkPolicy, service, statefulSet } from '../../kube/builtin.ts'
import { controllerWith, steps } from '../engine/controller.ts'
import { releaseQuota, releaseSurplusQuota } from '../quota.ts'
import { haltStateful } from '../stateful/halt.ts'
import { newStatefulState, observeWorkload } from '../stateful/pass.ts'
import type { Engine } from '../stateful/retainedEngine.ts'
import { statefulRights } from '../stateful/rights.ts'
import { removeAuxiliaryChildren, removeVolumes, removeWorkload } from '../stateful/teardown.ts'
import { adoptVolumes, checkStorage, growVolumes, keepStorageClass } from '../stateful/volumes.ts'
import { findCluster } from '../workload/cluster.ts'
import { childRights, podObserver, workloadObservers } from '../workload/observers.ts'
import { resolvePlan } from '../workload/resolve.ts'
import { BACKUP_CHILDREN, removeBackups } from '../workload/volumeBackups.ts'
import { checkWorkloadQuota } from '../workload/workloadQuota.ts'
import { keepBackups, SQL_BACKUP_OBSERVERS } from './backup.ts'
import { checkMemory, checkTimeZone, chooseLicense, ensureLogins } from './resolve.ts'
import type { SqlOptions, SqlPass, SqlState } from './types.ts'
import { applyWorkload, judgeHealth, judgeStopped, prepareEngine, removeHistory, reportStatus } from './workload.ts'

const engineOf = ({ object: { spec } }: SqlPass): Engine => ({
  name: spec.engine,
  version: spec.engineVersion ?? newestSqlVersion(spec.engine),
  field: 'engineVersion',
})

const OWN = statefulRights(SqlInstance, [statefulSet, service, configMap, networkPolicy])

const RIGHTS = {
  ...OWN,
  observes: [...OWN.observes, ...SQL_BACKUP_OBSERVERS, podObserver(SqlInstance), ...workloadObservers(SqlInstance)],
  writes: [...OWN.writes, ...childRights(BACKUP_CHILDREN)],
}

/** Reconciles SQL instances: docs/areas/sql.md. */
export const sqlController = controllerWith<typeof SqlInstance, SqlOptions, SqlState>(
  SqlInstance,
  RIGHTS,
  (options) => ({
    state: newStatefulState,
    reconcile: steps(
      observeWorkload,
      findCluster,
      checkTimeZone,
      resolvePlan(),
      checkMemory,
      checkWorkloadQuota(statefulSet),
      adoptVolumes(engineOf),
      keepStorageClass,
      checkStorage,
      chooseLicense,
      ensureLogins(options),
      growVolumes,
      applyWorkload,
      reportStatus,
      keepBackups(options),
      prepareEngine(options),
      judgeHealth,
    ),
    halt: haltStateful(judgeStopped),
    afterSteps: releaseSurplusQuota,
    finalize: steps(
      removeWorkload,
      removeVolumes(engineOf),
      removeAuxiliaryChildren({
        resources: [service, networkPolicy, configMap],
        secretsOf: (name) => [sqlNames(name).license],
        dataSecretsOf: (name) => [sqlNames(name).logins],
      }),
      removeBackups,
      removeHistory,
      releaseQuota,
    ),
    finalizeRevoked: steps(removeHistory, releaseQuota),
  }),
)
