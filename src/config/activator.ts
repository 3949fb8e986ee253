import { z } from 'zod'
import { OptionalText, Port, Url } from './fields.ts'

export const activatorSettings = {
  activatorContext: OptionalText.describe('Context of the kubeconfig for the activator of functions'),
  activatorHost: z.string().default('0.0.0.0').describe('Address on which calls of functions are taken'),
  activatorPort: Port.default(8082).describe('Port on which they are; 0 takes any that is free'),
  figuresPort: Port.default(9091).describe(
    'Port on which an activator without a facade in its process tells facades what it counted of calls, and makes test calls for them, at the address of the management port. Only facades may reach it',
  ),
  figuresUrl: Url.default('http://freehold-activator.freehold-system.svc:9091').describe(
    'Where a facade without an activator in its process asks for that',
  ),
  tunnelUrl: Url.default('https://freehold-webhook.freehold-system.svc:8444').describe(
    'Where such an activator has connections opened to copies of functions in other clusters: the port of agents',
  ),
  facadeUrl: Url.optional().describe('Where the activator asks whether a caller may call; this process when absent'),
}
