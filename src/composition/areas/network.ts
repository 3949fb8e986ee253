import type { Services } from '../../api/http/context.ts'
import { createNetworkLooks } from '../../api/network/looks.ts'
import type { AreaSetup } from './setup.ts'

/** What is known of the network of boundaries. */
export function networkServices({ client, agents }: AreaSetup): Pick<Services, 'network'> {
  return { network: createNetworkLooks(client, (clusterId) => agents.clientOf(clusterId)) }
}
