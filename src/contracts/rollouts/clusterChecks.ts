import { pluralize, pluralizeVerb } from '../../core/pluralize.ts'
import {
  type Check,
  type CheckResult,
  decideByClusterFact,
  decideByFact,
  failed,
  passed,
  skipped,
  warns,
} from './checkResults.ts'

const HOUR_MS = 3_600_000
const WEEK_MS = 7 * 24 * HOUR_MS
/** Share of all nodes' resources that must be free for new pods beside the old ones. */
const HEADROOM = 0.1
const NEAR_LIMIT = 0.9

const namesOf = (found: readonly { readonly name: string }[]) => found.map(({ name }) => name).join(', ')
/** Failed, with the names of bad items; Passed if there are none. */
const failIfAny = (bad: readonly { readonly name: string }[], failure: string, success: string): CheckResult =>
  bad.length === 0 ? passed(success) : failed(`${failure}: ${namesOf(bad)}.`)

/** The checks that depend on the state of the cluster alone. */
export const CLUSTER_CHECKS: readonly Check[] = [
  {
    id: 'projector-ceiling',
    title: 'The ceiling of projected roles covers their needs',
    category: 'Clusters',
    isOverridable: false,
    remedy: 'Apply the ceiling of the release first.',
    decide: decideByClusterFact('ceiling', (lacking) =>
      lacking.length === 0
        ? passed('The ceiling contains every rule that it needs.')
        : failed(`The ceiling lacks rules: ${lacking.join('; ')}.`),
    ),
  },
  {
    id: 'cluster-reachable',
    title: 'The cluster answers',
    category: 'Clusters',
    isOverridable: false,
    remedy: 'Make sure that the operator reaches the API server.',
    decide: ({ cluster }) =>
      Object.values(cluster).some((known) => 'value' in known)
        ? passed('The API server answers.')
        : failed('The API server does not answer.'),
  },
  {
    id: 'nodes-ready',
    title: 'Nodes are ready',
    category: 'Clusters',
    isOverridable: true,
    remedy: 'Repair or remove the nodes.',
    decide: decideByClusterFact('nodes', (nodes) =>
      failIfAny(
        nodes.filter(({ isReady }) => !isReady),
        'These nodes are not ready',
        `${pluralize(nodes.length, 'node')} ${pluralizeVerb(nodes.length, 'is', 'are')} ready.`,
      ),
    ),
  },
  {
    id: 'api-versions-removed',
    title: 'Charts use no removed API version',
    category: 'Clusters',
    isOverridable: true,
    remedy: 'Choose a release for this version of Kubernetes.',
    decide: () => skipped('Releases do not say which versions of APIs their charts use.'),
  },
  {
    id: 'disk-headroom',
    title: 'Nodes have room on their disks',
    category: 'Clusters',
    isOverridable: true,
    remedy: 'Make room on the disks of those nodes.',
    decide: decideByClusterFact('nodes', (nodes) =>
      failIfAny(
        nodes.filter(({ isShortOfDisk }) => isShortOfDisk),
        'These nodes are short of disk',
        'No node is short of disk.',
      ),
    ),
  },
  {
    id: 'capacity-headroom',
    title: 'New pods have room beside the old ones',
    category: 'Clusters',
    isOverridable: true,
    remedy: 'Add nodes, or stop workloads.',
    decide: decideByFact(
      ({ cluster: { nodes, requests } }) =>
        'unknown' in requests || 'unknown' in nodes
          ? { unknown: 'unknown' in requests ? requests.unknown : (nodes as { unknown: string }).unknown }
          : { value: { nodes: nodes.value, requests: requests.value } },
      ({ nodes, requests }) => {
        const sum = (of: 'cpu' | 'memory') => nodes.reduce((total, node) => total + node[of], 0)
        const free = (of: 'cpu' | 'memory') => (sum(of) === 0 ? 0 : 1 - requests[of] / sum(of))
        const scarce = (['cpu', 'memory'] as const).filter((of) => free(of) < HEADROOM)
        const details = { cpuFree: percent(free('cpu')), memoryFree: percent(free('memory')) }
        if (scarce.length === 0) return { ...passed('More than a tenth of CPU and memory is free.'), details }
        return failed(`Less than a tenth is free of ${scarce.join(' and ')}.`, details)
      },
    ),
  },
  {
    id: 'database-primary',
    title: 'Databases of the platform have a primary',
    category: 'Databases',
    isOverridable: true,
    remedy: 'Wait for the failover, or repair the database.',
    decide: decideByClusterFact('databases', (found) =>
      failIfAny(
        found.filter(({ hasPrimary }) => !hasPrimary),
        'These databases have no primary',
        `${pluralize(found.length, 'database')} ${pluralizeVerb(found.length, 'has', 'have')} a primary.`,
      ),
    ),
  },
  {
    id: 'database-archiving',
    title: 'Databases of the platform archive',
    category: 'Databases',
    isOverridable: true,
    remedy: 'Find out why the archive accepts nothing.',
    decide: decideByClusterFact('databases', (found) =>
      failIfAny(
        found.filter(({ isArchiving }) => isArchiving === false),
        'These databases fail to archive',
        'No database fails to archive.',
      ),
    ),
  },
  {
    id: 'wal-pressure',
    title: 'No database runs out of room for its log',
    category: 'Databases',
    isOverridable: true,
    remedy: 'Let it archive, or make its volume larger.',
    decide: () => skipped('The usage of database volumes is not known here.'),
  },
  {
    id: 'backup-target',
    title: 'The target of backups is available',
    category: 'Backups',
    isOverridable: true,
    remedy: 'Set a backup target that can be reached.',
    decide: decideByClusterFact('backups', ({ target }) =>
      target === 'Available'
        ? passed('The backup target is available.')
        : failed(`The backup target is ${target.toLowerCase()}.`),
    ),
  },
  {
    id: 'last-backup-age',
    title: 'The last backup of the platform is less than a day old',
    category: 'Backups',
    isOverridable: true,
    remedy: 'Take a backup now.',
    decide: decideByClusterFact('backups', ({ lastAt }, { now }) => {
      if (lastAt === undefined) return failed('No backup of the platform was completed yet.')
      const hours = Math.floor((now - Date.parse(lastAt)) / HOUR_MS)
      return now - Date.parse(lastAt) <= 24 * HOUR_MS
        ? passed('The last backup is less than a day old.', { lastAt })
        : failed(`The last backup is ${hours} hours old.`, { lastAt })
    }),
  },
  {
    id: 'snapshot-possible',
    title: 'A snapshot can be taken before the rollout',
    category: 'Backups',
    isOverridable: true,
    remedy: 'Install Velero and set a backup target.',
    decide({ cluster: { backups } }) {
      if ('unknown' in backups) return failed(`No snapshot can be taken. ${backups.unknown}`)
      const { target } = backups.value
      return target === 'Available'
        ? passed('Velero can take a snapshot.')
        : failed('No snapshot can be taken: the backup target is not available.')
    },
  },
  {
    id: 'certificates-valid',
    title: 'Certificates of the platform are valid for a week',
    category: 'Health',
    isOverridable: true,
    remedy: 'Find out why cert-manager does not renew them.',
    decide: decideByClusterFact('certificates', (found, { now }) => {
      const isBad = ({ isReady, endsAt }: (typeof found)[number]) =>
        !isReady || Date.parse(endsAt ?? '') < now + WEEK_MS
      return failIfAny(
        found.filter(isBad),
        'These certificates are not valid for a week',
        `${pluralize(found.length, 'certificate')} ${pluralizeVerb(found.length, 'is', 'are')} valid.`,
      )
    }),
  },
  {
    id: 'crd-chart-match',
    title: 'The definitions of the components exist',
    category: 'Health',
    isOverridable: true,
    remedy: 'Repair the component: its chart brings them.',
    decide: decideByClusterFact('missingDefinitions', (missing) =>
      missing.length === 0
        ? passed('No definition of the components is missing.')
        : failed(`These definitions are missing: ${missing.join(', ')}.`),
    ),
  },
  {
    id: 'quota-near',
    title: 'No quota of the platform is nearly used up',
    category: 'Clusters',
    isOverridable: true,
    remedy: 'Raise the quota.',
    decide: decideByClusterFact('quotas', (found) => {
      const near = found.filter(({ share }) => share >= NEAR_LIMIT)
      return near.length === 0
        ? passed('No quota is nearly used up.')
        : warns(`These quotas are 90 % used: ${namesOf(near)}.`)
    }),
  },
  {
    id: 'pending-restarts',
    title: 'No workload of the platform restarts',
    category: 'Health',
    isOverridable: true,
    remedy: 'Wait until it has restarted.',
    decide: decideByClusterFact('workloads', (found) => {
      const busy = found.filter(({ isPending }) => isPending)
      return busy.length === 0
        ? passed('No workload of the platform restarts.')
        : warns(`These workloads restart: ${namesOf(busy)}.`)
    }),
  },
]

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}
