import type { DriftItem } from '../../contracts/rollouts/drift.ts'
import type { ClusterCheckFacts } from '../../contracts/rollouts/facts.ts'
import type { RoleCeiling } from './ceiling.ts'
import type { ClusterInspector } from './port.ts'
import type { RoleChange } from './roles.ts'

/** A healthy cluster, from which tests change what they are about. */
export const HEALTHY_CLUSTER: ClusterCheckFacts = {
  nodes: { value: [{ name: 'node-1', isReady: true, isShortOfDisk: false, cpu: 8, memory: 2 ** 34 }] },
  requests: { value: { cpu: 1, memory: 2 ** 30 } },
  databases: { value: [] },
  certificates: { value: [] },
  quotas: { value: [] },
  workloads: { value: [] },
  backups: { value: { target: 'Available', lastAt: '2026-01-01T00:00:00Z' } },
  missingDefinitions: { value: [] },
  ceiling: { value: [] },
}

/** A cluster look in memory, which returns what a test has set. */
export class FakeClusterInspector implements ClusterInspector {
  found: ClusterCheckFacts = HEALTHY_CLUSTER
  changed: DriftItem[] = []
  /** By field. */
  readonly values = new Map<string, unknown>()

  async facts(): Promise<ClusterCheckFacts> {
    return this.found
  }

  async valueOf({ field }: { field: string }): Promise<unknown> {
    return this.values.get(field)
  }

  async drift(components: Parameters<ClusterInspector['drift']>[0]) {
    const names = new Set(components.map(({ name }) => name))
    return { scanned: names.size, items: this.changed.filter(({ component }) => names.has(component)), problems: [] }
  }
}

/** The differing roles in memory, which one caller may change. */
export class FakeRoleCeiling implements RoleCeiling {
  differing: readonly RoleChange[] = []
  /** Authorization header of the caller who may apply changes. */
  mayApply: string | undefined

  async changes(): Promise<readonly RoleChange[]> {
    return this.differing
  }

  async apply(authorization: string): Promise<boolean> {
    if (authorization !== this.mayApply) return false
    this.differing = []
    return true
  }
}
