import { sqlNames } from '../../contracts/sql.ts'
import { SqlInstance } from '../../crds/sql.ts'
import {
  configMap,
  namespace,
  networkPolicy,
  persistentVolumeClaim,
  secret,
  service,
  statefulSet,
  storageClass,
} from '../../kube/builtin.ts'
import { controllerWith, type Rights, steps } from '../engine/controller.ts'
import { releaseQuota } from '../quota.ts'
import { LEDGER_RIGHTS } from '../quotaLedger.ts'
import { isMade, observeWorkload } from '../stateful/pass.ts'
import { removeSurroundings, removeVolumes, removeWorkload } from '../stateful/teardown.ts'
import { adoptVolumes, checkStorage, growVolumes, keepStorageClass } from '../stateful/volumes.ts'
import { findCluster } from '../workload/home.ts'
import { childRights, podObserver, workloadObservers } from '../workload/observers.ts'
import { checkQuota, resolvePlan } from '../workload/resolve.ts'
import { checkBackup, checkMemory, chooseLicense, ensureLogins, randomPassword } from './resolve.ts'
import { newSqlState, type SqlOptions, type SqlState } from './types.ts'
import { applyWorkload, judgeHealth, prepareEngine, reportStatus } from './workload.ts'

const CHILDREN = [statefulSet, service, configMap, networkPolicy] as const

const WRITES: readonly Rights[] = [
  ...childRights(CHILDREN),
  { resource: persistentVolumeClaim, verbs: ['get', 'patch', 'delete'] },
  { resource: SqlInstance.resource, verbs: ['get', 'patch'] },
  LEDGER_RIGHTS,
]

const RIGHTS = {
  observes: [...CHILDREN, persistentVolumeClaim, secret, podObserver(SqlInstance), ...workloadObservers(SqlInstance)],
  reads: [namespace, storageClass],
  writes: WRITES,
}

/** Keeps SQL instances as their specs say: docs/areas/sql.md. */
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
      resolvePlan(),
      checkMemory,
      checkQuota(isMade),
      adoptVolumes,
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
    finalize: steps(
      removeWorkload,
      removeVolumes,
      removeSurroundings({
        resources: [service, networkPolicy, configMap],
        secretsOf: (name) => {
          const { license, history } = sqlNames(name)
          return [license, history]
        },
        dataSecretsOf: (name) => [sqlNames(name).logins],
      }),
      releaseQuota,
    ),
  }
})
