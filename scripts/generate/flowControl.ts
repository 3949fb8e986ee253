import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { PRINCIPAL_GROUPS } from '../controlplane/access.ts'
import { ACTIVATOR_ACCOUNT, CONTROLLERS_ACCOUNT, FACADE_ACCOUNT } from './policy.ts'

const API_VERSION = 'flowcontrol.apiserver.k8s.io/v1'
const labels = { 'app.kubernetes.io/part-of': 'freehold', 'app.kubernetes.io/component': 'flowcontrol' }

type Limited = {
  /**
   * Kubernetes' own levels have 245 shares: of the 600 requests that the API server serves at once, each share gets
   * about 2.
   */
  nominalConcurrencyShares: number
  /** The percentage that other levels may use while it is free. */
  lendablePercent: number
  /** The percentage that it may borrow from others; no limit if absent. */
  borrowingLimitPercent?: number
  queues: { queues: number; handSize: number; queueLengthLimit: number }
}

function level(name: string, { queues, ...limited }: Limited): KubeObject {
  const spec = { type: 'Limited', limited: { ...limited, limitResponse: { type: 'Queue', queuing: queues } } }
  return { apiVersion: API_VERSION, kind: 'PriorityLevelConfiguration', metadata: { name, labels }, spec } as KubeObject
}

/** All requests of the subjects take turns with those of other users at the level of the same name. */
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
 * Only a few at once: more would take the processor from everybody, and slow readers keep their places. Many may wait,
 * because a refused client retries at once.
 */
const PRINCIPALS: Limited = {
  nominalConcurrencyShares: 3,
  lendablePercent: 50,
  borrowingLimitPercent: 0,
  queues: { queues: 64, handSize: 2, queueLengthLimit: 300 },
}

/**
 * How the API server divides its capacity. By default the platform's accounts share a level with all other accounts,
 * and tenants one with everybody who is no account. A level has no limit per user, so principals are spread over
 * several: whoever fills one delays few others.
 */
export function flowControl(): KubeObject[] {
  const accounts = [CONTROLLERS_ACCOUNT, FACADE_ACCOUNT, ACTIVATOR_ACCOUNT].map((name) => ({
    kind: 'ServiceAccount',
    serviceAccount: { namespace: SYSTEM_NAMESPACE, name },
  }))
  const principals = PRINCIPAL_GROUPS.map((name) => ({ name: name.replaceAll(':', '-'), group: { name } }))
  // Before Kubernetes' levels for accounts (9000) and for everybody (9900).
  return [
    level('freehold-platform', PLATFORM),
    ...principals.map(({ name }) => level(name, PRINCIPALS)),
    schema('freehold-platform', 700, accounts),
    ...principals.map(({ name, group }) => schema(name, 8_000, [{ kind: 'Group', group }])),
  ]
}
