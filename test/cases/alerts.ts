type Series = readonly [series: string, values: string]
type AlertCase = {
  title: string
  /** In the notation of promtool, a value a minute. */
  series: readonly Series[]
  minutes: number
  /** Names of the alerts that fire then; no others may. */
  firing: readonly string[]
}

const up = (component: string, values: string): Series => [
  `up{namespace="freehold-system", component="${component}", pod="${component}-0"}`,
  values,
]
const starts = (component: string, values: string): Series => [
  `process_start_time_seconds{namespace="freehold-system", component="${component}", pod="${component}-0"}`,
  values,
]
const leads = (pod: string, values: string): Series => [
  `controller_runtime_max_concurrent_reconciles{namespace="freehold-system", component="controllers", pod="${pod}", controller="boundary"}`,
  values,
]
const others = [up('facade', '1x120'), up('activator', '1x120')]

/** What the alerts of the platform say of an installation, with the metrics that it would have. */
export const ALERT_CASES: readonly AlertCase[] = [
  {
    title: 'nothing about an installation that works',
    series: [...others, up('controllers', '1x120'), leads('controllers-0', '8x120'), starts('facade', '1000x120')],
    minutes: 60,
    firing: [],
  },
  {
    title: 'which part is down',
    series: [up('facade', '0x120'), up('controllers', '1x120'), leads('controllers-0', '8x120')],
    minutes: 60,
    firing: ['FreeholdActivatorDown', 'FreeholdFacadeDown'],
  },
  {
    title: 'that controllers run of which none leads',
    series: [...others, up('controllers', '1x120')],
    minutes: 60,
    firing: ['FreeholdNobodyLeads'],
  },
  {
    title: 'that no controllers run, without a second alert that none leads',
    series: others,
    minutes: 60,
    firing: ['FreeholdControllersDown'],
  },
  {
    title: 'nothing about another leader after a minute',
    series: [
      ...others,
      up('controllers', '1x120'),
      leads('controllers-0', '8x30 stale'),
      leads('controllers-1', '_x31 8x90'),
    ],
    minutes: 60,
    firing: [],
  },
  {
    title: 'that a part starts again and again',
    series: [
      ...others,
      up('controllers', '1x120'),
      leads('controllers-0', '8x120'),
      starts('facade', '1000x20 2000x10 3000x10 4000x80'),
    ],
    minutes: 60,
    firing: ['FreeholdStartsAgain'],
  },
  {
    title: 'nothing about a start for new settings',
    series: [
      ...others,
      up('controllers', '1x120'),
      leads('controllers-0', '8x120'),
      starts('facade', '1000x20 2000x100'),
    ],
    minutes: 60,
    firing: [],
  },
  {
    title: 'that a boundary is full',
    series: [
      ...others,
      up('controllers', '1x120'),
      leads('controllers-0', '8x120'),
      ['freehold_full_boundaries{namespace="freehold-system", component="controllers"}', '1x120'],
    ],
    minutes: 60,
    firing: ['FreeholdBoundariesFull'],
  },
]

const backup = (which: 'available' | 'failed', values: string): Series => [
  `barman_cloud_cloudnative_pg_io_last_${which}_backup_timestamp{namespace="shop-0123456789", pod="relc-orders-1"}`,
  values,
]

/** What the alerts about workloads say of a database; two days after its first backup at the latest. */
export const WORKLOAD_ALERT_CASES: readonly AlertCase[] = [
  {
    title: 'nothing about a database with a recent backup',
    series: [backup('available', '60x1400 84060x1500'), backup('failed', '0x2900')],
    minutes: 2_800,
    firing: [],
  },
  {
    title: 'that the last backup of a database is old',
    series: [backup('available', '60x2900'), backup('failed', '0x2900')],
    minutes: 2_800,
    firing: ['BackupTooOld'],
  },
  {
    title: 'that a database has no backup at all',
    series: [backup('available', '0x2900'), backup('failed', '60x2900')],
    minutes: 120,
    firing: ['BackupTooOld'],
  },
  {
    title: 'nothing about a database whose first backup runs',
    series: [backup('available', '0x2900'), backup('failed', '0x2900')],
    minutes: 120,
    firing: [],
  },
]
