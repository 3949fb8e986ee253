import { z } from 'zod'
import { HttpsUrl, Port } from './fields.ts'

export const agentSettings = {
  agentPort: Port.optional().describe('Port for agents of other clusters; none can join when absent'),
  agentHost: z.string().default('0.0.0.0').describe('Address on which the port for agents listens'),
  agentUrl: HttpsUrl.optional().describe('HTTPS URL at which agents reach agentPort; join tokens contain it'),
  agentPeerHost: z
    .string()
    .default('127.0.0.1')
    .describe(
      "Address at which other processes of the platform reach agentPort of this process; in a pod, the pod's address",
    ),
  agentHub: HttpsUrl.optional().describe('For the role agent: agentUrl of the platform to join'),
  agentFingerprint: z
    .string()
    .regex(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/, 'expected the SHA-256 of a certificate, as hexadecimal pairs')
    .optional()
    .describe("For the role agent: fingerprint of the platform's authority, shown with the join token"),
  agentToken: z.string().min(1).max(256).optional().describe('For the role agent: the join token, needed once'),
}
