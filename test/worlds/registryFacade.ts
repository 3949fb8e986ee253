import { randomUUID } from 'node:crypto'
import { boundaryNamespace, groupNamespace } from '../../src/core/names.ts'
import { PlatformJob } from '../../src/crds/jobs.ts'
import { DenyAssignment, RoleDefinition } from '../../src/crds/rbac.ts'
import { BUILT_IN_ROLES } from '../../src/iam/roles.ts'
import { makeRegistry } from '../make/registry.ts'
import { request } from '../make/request.ts'
import { bearer, startFacade } from './facadeServer.ts'

export const BOUNDARY = '3d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b01'
export const OTHER = '3d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b02'
export const HERE = `/boundaries/${BOUNDARY}`
export const REPOSITORY = `${BOUNDARY}/shop/jobs/report`

/** A facade beside a registry, with two boundaries, a group and two jobs. */
export async function registryFacade(...[options = {}, services = {}]: Parameters<typeof startFacade>) {
  const world = makeRegistry()
  const facade = await startFacade(options, { registry: world.service, ...services })
  for (const { name, ...role } of BUILT_IN_ROLES) {
    const { displayName, description, actions, notActions, dataActions, notDataActions, assignableScopes } = role
    const spec = { displayName, description, actions, notActions, dataActions, notDataActions, assignableScopes }
    facade.put(RoleDefinition, name, { ...spec, isBuiltIn: true })
  }
  for (const id of [BOUNDARY, OTHER]) facade.boundary(id)
  facade.group(BOUNDARY, 'shop')
  const job = { image: 'python', computePlan: 'job-small' }
  for (const name of ['report', 'other']) facade.put(PlatformJob, name, job, groupNamespace(BOUNDARY, 'shop'))
  const withRole = (role: string, scope: string) => {
    const person = randomUUID()
    facade.grant(person, role, scope)
    return person
  }
  const deny = (principalId: string, actions: string[], scope = HERE) =>
    facade.put(
      DenyAssignment,
      randomUUID(),
      { principalId, principalType: 'User', actions, dataActions: [], scope, reason: 'test', scopeIncarnation: 'life' },
      boundaryNamespace(BOUNDARY),
    )
  const asOwner = (method: 'get' | 'put' | 'delete', path: string) =>
    request(facade.app)
      [method](path)
      .set('authorization', bearer(withRole('Owner', '/')))
  return { world, facade, withRole, deny, asOwner }
}
