import { randomUUID } from 'node:crypto'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import { PLAN_FAMILIES } from '../../src/core/sizing/plans.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { KINDS } from '../../src/crds/index.ts'
import { ComputePlan } from '../../src/crds/plans.ts'
import { fittingName, sampleSpec } from '../make/samples.ts'
import { CLUSTER } from './facadeServer.ts'
import { BOUNDARY, OWNER, startShop } from './shop.ts'

/** Kinds that already exist, or that only the platform creates. */
const SEEDED = new Set(['Boundary', 'ResourceGroup', 'PlatformCluster', 'NameClaim'])

const SIZES = {
  ...{ cpuRequest: '100m', cpuLimit: '1', memoryRequest: '1Gi', memoryLimit: '1Gi', storageSize: '20Gi' },
  isDefault: true,
}

/** Parameters whose collection is not named after the kind. */
const NAMED_BY: Readonly<Record<string, string>> = {
  assignmentId: 'roleassignments',
  slug: 'blueprinttemplates',
  trustId: 'boundarytrusts',
  tenantId: 'platformtenants',
  groupId: 'principalgroups',
  invitationId: 'memberinvitations',
}

function spaceOf({ placement }: AnyKind): string | undefined {
  if (placement === 'cluster') return undefined
  if (placement === 'group') return groupNamespace(BOUNDARY, 'shop')
  return placement === 'platform' ? SYSTEM_NAMESPACE : boundaryNamespace(BOUNDARY)
}

/** The facade with an object of each kind in the boundary and its group `shop`, whose owner owns the platform too. */
export async function startWithOneOfEachKind(...given: Parameters<typeof startShop>) {
  const server = await startShop(...given)
  server.grant(OWNER, 'Platform Owner', '/')
  server.grant(OWNER, 'Owner', '/')
  for (const family of PLAN_FAMILIES) {
    const spec = ComputePlan.spec.parse({ family, displayName: family, ...SIZES })
    server.put(ComputePlan, `default-${family.toLowerCase()}`, spec)
  }
  const names = new Map<string, string>()
  for (const kind of KINDS.filter(({ kind }) => !SEEDED.has(kind))) {
    const spec = sampleSpec(kind, { boundaryId: BOUNDARY, ownerId: OWNER, memberId: randomUUID() })
    const name = kind.placement === 'group' && kind.name === 'resource' ? 'one' : fittingName(kind, spec)
    names.set(kind.segment.toLowerCase(), name)
    server.put(kind, name, kind.spec.parse(spec) as object, spaceOf(kind))
  }
  /** The path of a route, with the names of existing objects. */
  const pathOf = (path: string) =>
    path
      .replace(/\{(\w+)\}/g, (whole, parameter: string) => names.get(NAMED_BY[parameter] ?? '') ?? whole)
      .replace('{boundaryId}', BOUNDARY)
      .replace('{clusterId}', CLUSTER)
      .replace(/(\w+plans)\/\{resourceId\}/, (whole, collection: string) => {
        const family = PLAN_FAMILIES.find((name) => collection.startsWith(name.toLowerCase()))
        return family === undefined ? whole : `${collection}/default-${family.toLowerCase()}`
      })
      .replace(/\{resourceGroup(Name)?\}/, 'shop')
      .replace(/([A-Za-z]+)\/\{\w+\}/g, (_, collection: string) => {
        return `${collection}/${names.get(collection.toLowerCase()) ?? 'one'}`
      })
      .replace(/\{\w+\}/g, 'one')
  return { ...server, pathOf }
}
