import { sqlNames } from '../../contracts/sql.ts'
import type { EffectivePlan } from '../../core/sizing/plans.ts'
import type { SqlInstance } from '../../crds/sql.ts'
import { type WorkloadInput, workloadInput } from '../workload/child.ts'

/** What the reconcile steps decide beyond the spec. */
export type SqlDecisions = {
  instance: SqlInstance
  plan: EffectivePlan
  incarnation: string
  /** One, or none while stopped. */
  replicas: 0 | 1
  /** Version of the product key in use; undefined for editions without one. */
  productKeyVersion: number | undefined
}

type SqlShared = WorkloadInput<ReturnType<typeof sqlNames>>

/** Everything that the children of a SQL instance depend on, resolved beforehand. */
export type SqlInput = SqlDecisions & SqlShared

export function sqlShared(instance: SqlInstance): SqlShared {
  return workloadInput(instance, sqlNames(instance.metadata.name), sqlApp(instance))
}

export function sqlInput(decided: SqlDecisions): SqlInput {
  return { ...sqlShared(decided.instance), ...decided }
}

/** Name of the engine's container and value of `app.kubernetes.io/name`. */
export function sqlApp({ spec }: SqlInstance): string {
  return spec.engine === 'MsSql' ? 'mssql' : 'mariadb'
}
