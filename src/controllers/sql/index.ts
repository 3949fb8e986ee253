import { sqlNames } from '../../contracts/sql.ts'
import { OWNER_KIND_LABEL, OWNER_NAME_LABEL } from '../../core/labels.ts'
import { type KubeObject, keyOf, objectKey } from '../../core/object.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { SqlInstance } from '../../crds/sql.ts'
import {
  configMap,
  namespace,
  networkPolicy,
  persistentVolumeClaim,
  pod,
  secret,
  service,
  statefulSet,
  storageClass,
} from '../../kube/builtin.ts'
import { type Controller, controller, type Observed, type Rights, steps, type Workspace } from '../engine/controller.ts'
import { quotaObservers } from '../quota.ts'
import { removeSurroundings, removeVolumes, removeWorkload } from '../stateful/teardown.ts'
import { adoptVolumes, checkStorage, growVolumes, keepStorageClass } from '../stateful/volumes.ts'
import { checkQuota, chooseLicense, ensureLogins, randomPassword, resolvePlan } from './resolve.ts'
import { newSqlState, type SqlOptions, type SqlState } from './types.ts'
import { applyWorkload, judgeHealth, observeWorkload, prepareEngine, reportStatus } from './workload.ts'

type Cached = SqlInstance & { [key: string]: unknown }

const all = (records: Workspace) => records.cache<Cached>(SqlInstance.resource).list()
const keys = (objects: readonly KubeObject[]) => objects.map(keyOf)

const OTHERS: readonly Observed[] = [
  {
    resource: pod,
    keysOf: ({ metadata: { labels, namespace: home } }) =>
      labels?.[OWNER_KIND_LABEL] === SqlInstance.kind ? [objectKey(home, labels[OWNER_NAME_LABEL] ?? '')] : [],
  },
  {
    resource: ComputePlan.resource,
    keysOf: ({ metadata }, records) =>
      keys(all(records).filter(({ spec }) => (spec.computePlan ?? metadata.name) === metadata.name)),
  },
  { resource: PlatformCluster.resource, keysOf: (_, records) => keys(all(records)) },
  ...quotaObservers(SqlInstance),
]

const CHILDREN = [statefulSet, service, configMap, networkPolicy] as const

const WRITES: readonly Rights[] = [
  ...CHILDREN.map((resource) => ({ resource, verbs: ['get', 'create', 'patch', 'delete'] })),
  { resource: persistentVolumeClaim, verbs: ['get', 'patch', 'delete'] },
  { resource: SqlInstance.resource, verbs: ['get', 'patch'] },
]

/** Keeps SQL instances as their specs say: docs/areas/sql.md. */
export function sqlController(options: Omit<SqlOptions, 'generatePassword'> & Partial<SqlOptions>): Controller {
  const given: SqlOptions = { generatePassword: randomPassword, ...options }
  return controller<typeof SqlInstance, SqlState>(SqlInstance, {
    observes: [...CHILDREN, persistentVolumeClaim, secret, ...OTHERS],
    reads: [namespace, storageClass],
    writes: WRITES,
    state: newSqlState,
    reconcile: steps(
      observeWorkload,
      resolvePlan,
      checkQuota,
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
    ),
  })
}
