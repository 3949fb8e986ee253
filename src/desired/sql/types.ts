import { sqlNames } from '../../contracts/sql.ts'
import type { EffectivePlan } from '../../core/sizing/plans.ts'
import type { SqlInstance } from '../../crds/sql.ts'
import { type WorkloadInput, workloadInput } from '../workload/child.ts'

/** What the steps decide about a SQL instance, beyond what its spec says. */
export type SqlDecisions = {
  instance: SqlInstance
  plan: EffectivePlan
  incarnation: string
  /** One, or none while stopped. */
  replicas: 0 | 1
  /** Of the product key that the engine is started with; undefined for editions that need none. */
  productKeyVersion: number | undefined
}

type SqlShared = WorkloadInput<ReturnType<typeof sqlNames>>

/** Everything that the children of a SQL instance depend on, decided before. */
export type SqlInput = SqlDecisions & SqlShared

export function sqlShared(instance: SqlInstance): SqlShared {
  return workloadInput(instance, sqlNames(instance.metadata.name), sqlApp(instance))
}

export function sqlInput(decided: SqlDecisions): SqlInput {
  return { ...sqlShared(decided.instance), ...decided }
}

/** The name of the engine's container, and of its application in the field's standard labels. */
export function sqlApp({ spec }: SqlInstance): string {
  return spec.engine === 'MsSql' ? 'mssql' : 'mariadb'
}
