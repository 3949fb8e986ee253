import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { PRINCIPAL_GROUPS } from '../controlplane/access.ts'
import { ACTIVATOR_ACCOUNT, CONTROLLERS_ACCOUNT, FACADE_ACCOUNT } from './policy.ts'

const API_VERSION = 'flowcontrol.apiserver.k8s.io/v1'
const labels = { 'app.kubernetes.io/part-of': 'freehold', 'app.kubernetes.io/component': 'flowcontrol' }

type Limited = {
  /** Beside the levels of Kubernetes, which have 245: each gets about 2 of the 600 requests that the API server serves at once. */
  nominalConcurrencyShares: number
  /** How much of them others may use as long as they are free. */
  lendablePercent: number
  /** How much of others it may use; any amount when absent. */
  borrowingLimitPercent?: number
  queues: { queues: number; handSize: number; queueLengthLimit: number }
}

function level(name: string, { queues, ...limited }: Limited): KubeObject {
  const spec = { type: 'Limited', limited: { ...limited, limitResponse: { type: 'Queue', queuing: queues } } }
  return { apiVersion: API_VERSION, kind: 'PriorityLevelConfiguration', metadata: { name, labels }, spec } as KubeObject
}

/** Everything that the subjects ask for has its turn at the level of the same name, among the requests of other users. */
function schema(name: string, matchingPrecedence: number, subjects: readonly object[]): KubeObject {
  const resourceRules = [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }]
  const nonResourceRules = [{ verbs: ['*'], nonResourceURLs: ['*'] }]
  return {
    apiVersion: API_VERSION,
    kind: 'FlowSchema',
    metadata: { name, labels },
    spec: {
      matchingPrecedence,
      priorityLevelConfiguration: { name },
      distinguisherMethod: { type: 'ByUser' },
      rules: [{ subjects, resourceRules, nonResourceRules }],
    },
  } as KubeObject
}

const PLATFORM: Limited = {
  nominalConcurrencyShares: 30,
  lendablePercent: 50,
  queues: { queues: 16, handSize: 4, queueLengthLimit: 100 },
}

/**
 * A few at once: more of them would keep the processor from everybody, and what their readers take slowly keeps its place.
 * Many may wait: who is refused at once asks again at once.
 */
const PRINCIPALS: Limited = {
  nominalConcurrencyShares: 3,
  lendablePercent: 50,
  borrowingLimitPercent: 0,
  queues: { queues: 64, handSize: 2, queueLengthLimit: 300 },
}

/**
 * Whose requests the API server serves beside whose. Kubernetes would have the accounts of the platform share a level with
 * all others, and tenants one with everybody who is no account. A level has no limit for one user, so there are several
 * for principals: whoever holds all places of one keeps few others from theirs.
 */
export function flowControl(): KubeObject[] {
  const accounts = [CONTROLLERS_ACCOUNT, FACADE_ACCOUNT, ACTIVATOR_ACCOUNT].map((name) => ({
    kind: 'ServiceAccount',
    serviceAccount: { namespace: SYSTEM_NAMESPACE, name },
  }))
  const principals = PRINCIPAL_GROUPS.map((name) => ({ name: name.replaceAll(':', '-'), group: { name } }))
  // Before those that Kubernetes has for accounts (9000) and for everybody (9900).
  return [
    level('freehold-platform', PLATFORM),
    ...principals.map(({ name }) => level(name, PRINCIPALS)),
    schema('freehold-platform', 700, accounts),
    ...principals.map(({ name, group }) => schema(name, 8_000, [{ kind: 'Group', group }])),
  ]
}
