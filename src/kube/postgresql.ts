import { optionalResource } from './builtin.ts'
import type { Resource } from './object.ts'

export const postgresqlCluster = optionalResource('postgresql.cnpg.io', 'Cluster')
export const postgresqlBackup = optionalResource('postgresql.cnpg.io', 'Backup')
export const postgresqlScheduledBackup = optionalResource('postgresql.cnpg.io', 'ScheduledBackup')
export const postgresqlPooler = optionalResource('postgresql.cnpg.io', 'Pooler')
export const postgresqlDatabase = optionalResource('postgresql.cnpg.io', 'Database')
export const barmanObjectStore = optionalResource('barmancloud.cnpg.io', 'ObjectStore')

export const POSTGRESQL_RESOURCES: readonly Resource[] = [
  postgresqlCluster,
  postgresqlBackup,
  postgresqlScheduledBackup,
  postgresqlPooler,
  postgresqlDatabase,
  barmanObjectStore,
]
