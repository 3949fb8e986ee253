import type { ObservedAction, ResourcePath } from '../../src/adapters/activity/port.ts'
import { SecretActivity } from '../../src/adapters/activity/secrets.ts'
import type { FinishedRequest } from '../../src/api/http/requestObserver.ts'
import { groupNamespace } from '../../src/core/names.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import { FakeKubeClient } from '../../src/kube/fake.ts'
import { startFacade } from './facadeServer.ts'

export const BOUNDARY = '11111111-1111-4111-8111-111111111111'
export const PERSON = '22222222-2222-4222-8222-222222222222'
export const NAME: ResourcePath = {
  boundaryId: BOUNDARY,
  resourceGroup: 'shop',
  resourceType: 'vectorclusters',
  resourceName: 'search',
}
export const BASE = `/boundaries/${BOUNDARY}/resourcegroups/shop/resources/vectorclusters`
export const OF_BOUNDARY = `/boundaries/${BOUNDARY}`
export const asGroup = (name: string): ResourcePath => ({
  boundaryId: BOUNDARY,
  resourceGroup: name,
  resourceType: 'resourcegroups',
  resourceName: name,
})
export const AS_BOUNDARY: ResourcePath = {
  boundaryId: BOUNDARY,
  resourceGroup: '',
  resourceType: 'boundaries',
  resourceName: BOUNDARY,
}

/** A facade whose boundary has the group `shop`, and the activity of its requests. */
export async function activityWorld() {
  const requests: FinishedRequest[] = []
  const store = new SecretActivity(new FakeKubeClient())
  const facade = await startFacade({ observer: (one) => void requests.push(one) }, { activity: store })
  facade.boundary(BOUNDARY)
  facade.group(BOUNDARY, 'shop')
  facade.put(VectorCluster, 'search', {}, groupNamespace(BOUNDARY, 'shop'))
  facade.grant(PERSON, 'Owner', `/boundaries/${BOUNDARY}`)
  return { facade, told: requests, store }
}

export const observedAction = (more: Partial<ObservedAction> = {}): ObservedAction => ({
  id: crypto.randomUUID(),
  occurredAt: new Date().toISOString(),
  action: 'vectorcluster/write',
  actor: { principalId: PERSON },
  channel: 'Rest',
  outcome: 'Succeeded',
  metadata: {},
  ...more,
})
