import type { RouteDraft } from '../http/route.ts'
import type { SecretReader, SecretWriter } from '../records/secrets.ts'

declare module '../http/context.ts' {
  interface Services {
    readonly lifecycle: {
      /** Of freehold-system, where the install-configuration Secret is. */
      readonly secrets: SecretReader & SecretWriter
    }
  }
}

/** Components, installs, rollouts and backups of the platform (interface section 4.21). */
export const lifecycleRoutes: readonly RouteDraft[] = []
