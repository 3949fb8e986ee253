import type { RouteDraft } from '../http/route.ts'
import { componentRoutes } from './components.ts'
import type { InstallConfiguration } from './configuration.ts'
import { driftRoutes } from './drift.ts'
import { installRoutes } from './installs.ts'

declare module '../http/context.ts' {
  interface Services {
    readonly lifecycle: { readonly configuration: InstallConfiguration }
  }
}

/** Platform components and their installs (interface section 4.21). */
export const lifecycleRoutes: readonly RouteDraft[] = [...componentRoutes, ...installRoutes, ...driftRoutes]
