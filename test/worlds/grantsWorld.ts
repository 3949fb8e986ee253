import { grantControllers } from '../../src/controllers/rbac.ts'
import { INCARNATION_ANNOTATION } from '../../src/core/labels.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { Boundary } from '../../src/crds/boundaries.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { JitRequest, RoleAssignment } from '../../src/crds/rbac.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { BOUNDARY_ID, ControllerBench } from './controllers.ts'

export const PRINCIPAL = '7c1b2f7e-15c2-4f60-8f43-2f4d6f0c9a11'
export const SCOPE = `/boundaries/${BOUNDARY_ID}`
export const SHOP = `${SCOPE}/resourcegroups/shop`
export const HOUR = 3_600_000
export const REQUEST = '8c1d6e7f-2a3b-4c4d-9e5f-6a7b8c9d0e1f'
export const LIFE = { [INCARNATION_ANNOTATION]: 'now' }

/**
 * The controllers of grants over an API server in memory, with a boundary and its group `shop` in the incarnation
 * `now`.
 */
export class GrantsBench {
  readonly bench = new ControllerBench(grantControllers)
  /** The namespace of the boundary. */
  readonly space: string
  readonly group: KubeObject

  constructor() {
    this.space = this.bench.seedGroup('shop').boundarySpace
    this.bench.client.edit(Boundary.resource, { name: BOUNDARY_ID }, (object) => {
      object.metadata.annotations = LIFE
    })
    const spec = { tags: {}, quota: {} }
    this.group = this.bench.seed(ResourceGroup, 'shop', spec, { namespace: this.space, annotations: LIFE })
  }

  seed(kind: AnyKind, name: string, spec: object) {
    const whole = { principalId: PRINCIPAL, principalType: 'User', ...spec }
    return this.bench.seed(kind, name, whole, { namespace: this.space })
  }

  assign(name: string, spec: object) {
    return this.seed(RoleAssignment, name, { roleDefinitionName: 'Reader', scope: SCOPE, ...spec })
  }

  /** Seeds a request for the role Reader at the group. */
  ask(spec: object) {
    const wanted = { roleDefinitionName: 'Reader', scope: SHOP, scopeIncarnation: 'now' }
    return this.seed(JitRequest, REQUEST, { ...wanted, justification: 'x', durationMinutes: 60, ...spec })
  }

  async names(kind: AnyKind): Promise<string[]> {
    return (await this.bench.client.list(kind.resource)).items.map(({ metadata }) => metadata.name)
  }

  inFuture(milliseconds: number): string {
    return new Date(this.bench.clock.now() + milliseconds).toISOString()
  }
}
