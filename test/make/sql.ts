import { choosePlan } from '../../src/core/sizing/plans.ts'
import { DEFAULT_PLANS } from '../../src/crds/defaultPlans.ts'
import type { SpecOf } from '../../src/crds/define.ts'
import { ComputePlan } from '../../src/crds/plans.ts'
import { SqlInstance } from '../../src/crds/sql.ts'
import { sqlInput as inputOf, type SqlInput } from '../../src/desired/sql/index.ts'

/** The input of the builders of the children of an instance named `books`, with a plan from the installed ones. */
export function sqlInput(spec: Partial<SpecOf<typeof SqlInstance>> = {}, over: Partial<SqlInput> = {}): SqlInput {
  const instance: SqlInstance = {
    apiVersion: SqlInstance.apiVersion,
    kind: SqlInstance.kind,
    metadata: { name: 'books', namespace: 'shop-0123456789', uid: 'uid-books' },
    spec: SqlInstance.spec.parse(spec),
  }
  const plans = Object.entries(DEFAULT_PLANS).map(
    ([name, plan]): ComputePlan => ({
      apiVersion: ComputePlan.apiVersion,
      kind: ComputePlan.kind,
      metadata: { name },
      spec: plan,
    }),
  )
  const choice = choosePlan('Sql', instance.spec, plans)
  if (choice.kind === 'refused') throw new Error(choice.message)
  const { plan } = choice
  return { ...inputOf({ instance, plan, incarnation: 'one', replicas: 1, productKeyVersion: undefined }), ...over }
}
