// @inTurn proxied: kills the operator.
import { VectorCluster } from '../../src/crds/vector.ts'
import { describeCrashes, type Scenario } from '../cluster/crashes.ts'
import { mixed } from '../cluster/scenarios/mixed.ts'
import { relational } from '../cluster/scenarios/relational.ts'
import { TEST_CONFIG } from '../config.ts'

const vector: Scenario = async ({ create, untilReady }) => {
  await create(VectorCluster, 'products', { computePlan: 'vector-medium', enableLoadBalancer: true })
  await untilReady(VectorCluster, 'products')
}

// Every write of these flows is a crash point in test/crashes; here some are tested on the real API server.
describeCrashes({ vector, relational, mixed }, TEST_CONFIG.sized(2, 24))
