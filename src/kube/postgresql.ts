import { optional } from './builtin.ts'
import type { Resource } from './object.ts'

export const postgresqlCluster = optional('postgresql.cnpg.io', 'Cluster')
export const postgresqlBackup = optional('postgresql.cnpg.io', 'Backup')
export const postgresqlScheduledBackup = optional('postgresql.cnpg.io', 'ScheduledBackup')
export const postgresqlPooler = optional('postgresql.cnpg.io', 'Pooler')
export const postgresqlDatabase = optional('postgresql.cnpg.io', 'Database')
export const barmanObjectStore = optional('barmancloud.cnpg.io', 'ObjectStore')

export const POSTGRESQL: readonly Resource[] = [
  postgresqlCluster,
  postgresqlBackup,
  postgresqlScheduledBackup,
  postgresqlPooler,
  postgresqlDatabase,
  barmanObjectStore,
]
