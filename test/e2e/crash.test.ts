// @alone: kills the operator of a platform of its own.
import { VectorCluster } from '../../src/crds/vector.ts'
import { describeCrashes } from '../cluster/crashes.ts'

describeCrashes({
  title: 'an operator that is killed in the middle of a creation',
  kills: 10,
  scenario: async ({ create, untilReady }) => {
    await create(VectorCluster, 'products', { computePlan: 'vector-medium', enableLoadBalancer: true })
    await untilReady(VectorCluster, 'products')
  },
})
