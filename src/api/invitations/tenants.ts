import type { BoundaryRecord } from '../boundaries/visibility.ts'

/** To which tenant a boundary belongs. */
export interface Tenants {
  /** Undefined where it has none, or the tenant cannot be found. */
  ofBoundary(boundary: BoundaryRecord): string | undefined
}

/** What the boundary itself says. */
export const tenantsOfBoundaries: Tenants = { ofBoundary: ({ spec }) => spec.tenantId }
