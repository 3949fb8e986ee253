import { sqlSelector } from '../../contracts/sql.ts'
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../core/labels.ts'
import type { ObjectMeta } from '../../core/object.ts'
import type { EffectivePlan } from '../../core/sizing/plans.ts'
import type { SqlInstance } from '../../crds/sql.ts'

/** Everything that the children of a SQL instance depend on, decided before. */
export type SqlInput = {
  instance: SqlInstance
  plan: EffectivePlan
  incarnation: string
  /** One, or none while stopped. */
  replicas: 0 | 1
  /** Of the product key that the engine is started with; undefined for editions that need none. */
  productKeyVersion: number | undefined
}

/** A child before it is owned: name, namespace, labels and the fields that we decide. */
export type Child<Kind extends string, Fields extends object = { spec: Record<string, unknown> }> = {
  apiVersion: string
  kind: Kind
  metadata: ObjectMeta
} & Fields

export function labelsOf({ instance }: Pick<SqlInput, 'instance'>): Record<string, string> {
  return {
    ...sqlSelector(instance.metadata.name),
    [MANAGED_BY_LABEL]: MANAGED_BY,
    'app.kubernetes.io/name': instance.spec.engine === 'MsSql' ? 'mssql' : 'mariadb',
    'app.kubernetes.io/instance': instance.metadata.name,
  }
}

export function metadataOf(input: Pick<SqlInput, 'instance'>, name: string): ObjectMeta {
  const { namespace = '' } = input.instance.metadata
  return { name, namespace, labels: labelsOf(input) }
}
