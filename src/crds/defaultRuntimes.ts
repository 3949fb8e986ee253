import { RUNTIMES } from '../contracts/builds/runtimes.ts'
import type { AppRuntime } from './appruntimes.ts'

/** The runtimes that a new platform offers: those that it can build. Keys are their names. */
export const DEFAULT_RUNTIMES: Readonly<Record<string, AppRuntime['spec']>> = Object.fromEntries(
  RUNTIMES.map(({ name, title, description, detects, defaultStartCommand, defaultPort, versions }) => [
    name,
    {
      ...{ title, description, defaultStartCommand, defaultPort, detects: [...detects] },
      versions: versions.map(({ version, isDefault, endsAt, builderImage }) => ({
        version,
        builderImage,
        ...(isDefault && { isDefault }),
        ...(endsAt !== undefined && { endsAt: `${endsAt}T00:00:00Z` }),
      })),
    },
  ]),
)
