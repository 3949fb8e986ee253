import { sqlNames } from '../../contracts/sql.ts'
import { newestVersion, SqlInstance } from '../../crds/sql.ts'
import { configMap, networkPolicy, service, statefulSet } from '../../kube/builtin.ts'
import { controllerWith, steps } from '../engine/controller.ts'
import { giveBackQuota, releaseQuota } from '../quota.ts'
import { haltStateful } from '../stateful/halt.ts'
import type { Engine } from '../stateful/keptEngine.ts'
import { observeWorkload } from '../stateful/pass.ts'
import { statefulRights } from '../stateful/rights.ts'
import { removeSurroundings, removeVolumes, removeWorkload } from '../stateful/teardown.ts'
import { adoptVolumes, checkStorage, growVolumes, keepStorageClass } from '../stateful/volumes.ts'
import { findCluster } from '../workload/home.ts'
import { podObserver, workloadObservers } from '../workload/observers.ts'
import { resolvePlan } from '../workload/resolve.ts'
import { checkWorkloadQuota } from '../workload/running.ts'
import { checkBackup, checkMemory, checkTimeZone, chooseLicense, ensureLogins, randomPassword } from './resolve.ts'
import { newSqlState, type SqlOptions, type SqlPass, type SqlState } from './types.ts'
import { applyWorkload, judgeHealth, judgeStopped, prepareEngine, removeHistory, reportStatus } from './workload.ts'

const engineOf = ({ object: { spec } }: SqlPass): Engine => ({
  name: spec.engine,
  version: spec.engineVersion ?? newestVersion(spec.engine),
  field: 'engineVersion',
})

const OWN = statefulRights(SqlInstance, [statefulSet, service, configMap, networkPolicy])

const RIGHTS = { ...OWN, observes: [...OWN.observes, podObserver(SqlInstance), ...workloadObservers(SqlInstance)] }

/** Reconciles SQL instances: docs/areas/sql.md. */
export const sqlController = controllerWith<
  typeof SqlInstance,
  Omit<SqlOptions, 'generatePassword'> & Partial<SqlOptions>,
  SqlState
>(SqlInstance, RIGHTS, (options) => {
  const given: SqlOptions = { generatePassword: randomPassword, ...options }
  return {
    state: newSqlState,
    reconcile: steps(
      observeWorkload,
      findCluster,
      checkBackup,
      checkTimeZone,
      resolvePlan(),
      checkMemory,
      checkWorkloadQuota(statefulSet),
      adoptVolumes(engineOf),
      keepStorageClass,
      checkStorage,
      chooseLicense,
      ensureLogins(given),
      growVolumes,
      applyWorkload,
      reportStatus,
      prepareEngine(given),
      judgeHealth,
    ),
    halt: haltStateful(judgeStopped),
    carriedOut: giveBackQuota,
    finalize: steps(
      removeWorkload,
      removeVolumes(engineOf),
      removeSurroundings({
        resources: [service, networkPolicy, configMap],
        secretsOf: (name) => [sqlNames(name).license],
        dataSecretsOf: (name) => [sqlNames(name).logins],
      }),
      removeHistory,
      releaseQuota,
    ),
    abandon: steps(removeHistory, releaseQuota),
  }
})
