import { z } from 'zod'
import { OptionalText, Port, Url } from './fields.ts'

export const activatorSettings = {
  activatorContext: OptionalText.describe('Context of the kubeconfig for the activator of functions'),
  activatorHost: z
    .string()
    .default('0.0.0.0')
    .describe('Address on which the activator listens for calls of functions'),
  activatorPort: Port.default(8082).describe('Port on which it listens; 0 chooses a free one'),
  figuresPort: Port.default(9091).describe(
    'Port, at managementHost, on which an activator without a facade in its process gives facades its counts of calls, and makes test calls for them. Only facades may reach it',
  ),
  figuresUrl: Url.default('http://freehold-activator.freehold-system.svc:9091').describe(
    'URL of figuresPort, for facades without an activator in their process',
  ),
  activatorPeerHost: OptionalText.describe(
    "Address at which other activators reach activatorPeerPort of this one; in a pod, the pod's address. When absent, an activator that does not hold the lease answers no calls",
  ),
  activatorPeerPort: Port.default(9092).describe(
    'Port, at managementHost, on which the activator that holds the lease takes calls from the others. Only they may reach it',
  ),
  tunnelUrl: Url.default('https://freehold-webhook.freehold-system.svc:8444').describe(
    'URL of agentPort, through which such an activator reaches copies of functions in other clusters',
  ),
  facadeUrl: Url.optional().describe(
    'URL of the facade that authorizes calls for the activator; this process when absent',
  ),
}
