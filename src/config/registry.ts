import { z } from 'zod'
import { Bytes, Host, IntegerSetting, OptionalText, Url } from './fields.ts'

const Name = z.string().min(1).max(255)

export const registrySettings = {
  registryUrl: Url.optional().describe('URL of the registry of images; there is none when absent'),
  registryHost: Host.optional().describe(
    'Host of the registry in names of images; host and port of registryUrl when absent',
  ),
  registryService: Name.optional().describe('auth.token.service of the registry; registryHost when absent'),
  registryIssuer: Name.default('freehold').describe('auth.token.issuer of the registry'),
  registryAuthorityCertificate: OptionalText.describe(
    'Path of the PEM certificate in auth.token.rootcertbundle of the registry',
  ),
  registryAuthorityKey: OptionalText.describe('Path of its PEM key, which signs the keys of tokens; keep it secret'),
  registryNotifySecretFile: OptionalText.describe(
    'Path of the secret that notifications must send in x-freehold-registry-secret; required by each facade with a registry',
  ),
  registryStorageFolder: OptionalText.describe(
    'rootdirectory of the registry, if it is on this machine; unused data is removed there',
  ),
  registryBytesPerBoundary: Bytes('1Mi')
    .default('100Gi')
    .describe(
      'Bytes of images and uploaded sources of a boundary from which on nobody gets a token to push there; measured in registryStorageFolder, so without effect if that is absent',
    ),
  registryAuditFolder: OptionalText.describe(
    'Folder that keeps the audit of the registry for 90 days, shared by facades and controllers. When absent, it is only in memory, and controllers without a facade in their process remove no images',
  ),
  registryUploadGraceSeconds: IntegerSetting.min(600)
    .default(3600)
    .describe(
      'How long nothing is removed from a repository after its last token for a push; longer than any single request of a push',
    ),
}
