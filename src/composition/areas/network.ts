import { noFlows } from '../../adapters/flows/client.ts'
import type { Services } from '../../api/http/context.ts'
import { createNetworkStateReader } from '../../api/network/networkState.ts'
import type { AreaSetup } from './setup.ts'

/** Provides observations of boundaries' networks. */
export function networkServices({ client, agents }: AreaSetup): Pick<Services, 'network'> {
  const networkState = createNetworkStateReader(client, (clusterId) => agents.clientOf(clusterId))
  return { network: { stateReader: networkState, flows: noFlows } }
}
