import type { AuditLog } from '../../adapters/audit/port.ts'
import type { ImageRegistry, RegistryKeys } from '../../adapters/registry/port.ts'
import type { RegistryAuditEntry } from '../../contracts/registry/audit.ts'
import type { Uses } from '../../contracts/registry/retention.ts'

/** The registry as the controllers work with it. */
export type RegistryPort = {
  /** As it stands in the names of images. */
  readonly host: string
  readonly registry: ImageRegistry
  readonly keys: RegistryKeys
  readonly audit: AuditLog<RegistryAuditEntry>
  /** What is in use now, by repository. */
  readonly uses: () => Promise<(repository: string) => Uses>
  /** Milliseconds for which nothing is removed of a repository after somebody got a token to push to it. */
  readonly grace: number
}
