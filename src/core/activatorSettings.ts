import { z } from 'zod'

/** Settings of the activator of functions, a part of the configuration. */
export const activatorSettings = {
  activatorContext: z.string().optional().describe('Context of the kubeconfig for the activator of functions'),
  activatorHost: z.string().default('0.0.0.0').describe('Address on which calls of functions are taken'),
  activatorPort: z.coerce
    .number()
    .int()
    .min(0)
    .max(65535)
    .default(8082)
    .describe('Port on which they are; 0 takes any that is free'),
  facadeUrl: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('Where the activator asks whether a caller may call; this process when absent'),
}
