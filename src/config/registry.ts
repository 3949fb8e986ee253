import { z } from 'zod'
import { Url, Whole } from './fields.ts'

/** The registry of images. */
export const registrySettings = {
  registryUrl: Url.optional().describe('Where the registry of images is reached; there is none when absent'),
  registryHost: z
    .string()
    .min(1)
    .max(255)
    .optional()
    .describe('The registry as it stands in the names of images; host and port of registryUrl when absent'),
  registryService: z
    .string()
    .min(1)
    .max(255)
    .optional()
    .describe('auth.token.service of the registry; registryHost when absent'),
  registryIssuer: z.string().min(1).max(255).default('freehold').describe('auth.token.issuer of the registry'),
  registryAuthorityCertificate: z
    .string()
    .optional()
    .describe('Path of the PEM certificate that stands in auth.token.rootcertbundle of the registry'),
  registryAuthorityKey: z
    .string()
    .optional()
    .describe('Path of its PEM key, which signs the keys that tokens are signed with; keep it as a secret'),
  registryNotifySecretFile: z
    .string()
    .optional()
    .describe('Path of what notifications must show in x-freehold-registry-secret; any are taken when absent'),
  registryStorageFolder: z
    .string()
    .optional()
    .describe('rootdirectory of the registry, if it is on this machine: data that nothing needs is removed there'),
  registryAuditFolder: z
    .string()
    .optional()
    .describe('Folder in which the audit of the registry is kept for 90 days; in memory only when absent'),
  registryUploadGraceSeconds: Whole.min(600)
    .default(3600)
    .describe(
      'How long after the last token to push nothing is removed of a repository: longer than any one request of a push',
    ),
}
