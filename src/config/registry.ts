import { z } from 'zod'
import { OptionalText, Url, Whole } from './fields.ts'

const Name = z.string().min(1).max(255)

export const registrySettings = {
  registryUrl: Url.optional().describe('Where the registry of images is reached; there is none when absent'),
  registryHost: Name.optional().describe(
    'The registry as it stands in the names of images; host and port of registryUrl when absent',
  ),
  registryService: Name.optional().describe('auth.token.service of the registry; registryHost when absent'),
  registryIssuer: Name.default('freehold').describe('auth.token.issuer of the registry'),
  registryAuthorityCertificate: OptionalText.describe(
    'Path of the PEM certificate that stands in auth.token.rootcertbundle of the registry',
  ),
  registryAuthorityKey: OptionalText.describe(
    'Path of its PEM key, which signs the keys that tokens are signed with; keep it as a secret',
  ),
  registryNotifySecretFile: OptionalText.describe(
    'Path of what notifications must show in x-freehold-registry-secret; each facade with a registry needs it',
  ),
  registryStorageFolder: OptionalText.describe(
    'rootdirectory of the registry, if it is on this machine: data that nothing needs is removed there',
  ),
  registryAuditFolder: OptionalText.describe(
    'Folder in which the audit of the registry is kept for 90 days, shared by facades and controllers; in memory only when absent, and then controllers without a facade in their process remove no images',
  ),
  registryUploadGraceSeconds: Whole.min(600)
    .default(3600)
    .describe(
      'How long after the last token to push nothing is removed of a repository: longer than any one request of a push',
    ),
}
