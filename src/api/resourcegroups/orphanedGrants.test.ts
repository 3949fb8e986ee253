import { expect } from 'chai'
import { ANNA, assign, B1, BERT } from '../../../test/make/authorizationRecords.ts'
import { type MemoryRecords, makeFacade } from '../../../test/worlds/facade.ts'
import { INCARNATION_ANNOTATION, PRINCIPAL_INCARNATIONS_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { PlatformUser } from '../../crds/identity.ts'
import { RoleAssignment } from '../../crds/rbac.ts'
import { assumedPrincipals } from '../callers/assumedPrincipals.ts'
import { recordedPrincipals } from '../callers/principals.ts'
import { orphanedGrantRoutes } from './orphanedGrants.ts'

const BOUNDARY = B1.slice('/boundaries/'.length)

/** The reasons listed for one grant. @param life the incarnation of the principal that the grant names, if any */
async function reasonsOf(
  life: string | undefined,
  { present, isExternal = false }: { present?: string; isExternal?: boolean },
) {
  const facade = makeFacade({ assignments: [assign('Owner', '/')] })
  const { records, services } = facade
  const recorded = recordedPrincipals(records as MemoryRecords)
  Object.assign(services, { principals: isExternal ? assumedPrincipals(recorded) : recorded })
  facade.boundary(BOUNDARY)
  if (present !== undefined) {
    const metadata = { namespace: SYSTEM_NAMESPACE, name: BERT, annotations: { [INCARNATION_ANNOTATION]: present } }
    records.put(PlatformUser, metadata, { userName: 'bert' })
  }
  const named = life === undefined ? {} : { [PRINCIPAL_INCARNATIONS_ANNOTATION]: JSON.stringify({ [BERT]: life }) }
  const metadata = { namespace: boundaryNamespace(BOUNDARY), name: 'grant', annotations: named }
  const spec = {
    principalId: BERT,
    principalType: 'User',
    roleDefinitionName: 'Reader',
    scope: B1,
    scopeIncarnation: 'life',
  }
  records.put(RoleAssignment, metadata, spec)
  const { body } = await facade.call(orphanedGrantRoutes, 'GET', '/resourcegroups/orphaned-grants', { caller: ANNA })
  return (body as { items: { reason: string }[] }).items.map(({ reason }) => reason)
}

describe('GET /resourcegroups/orphaned-grants', () => {
  it('omits a grant whose principal exists', async () => {
    expect(await reasonsOf('first', { present: 'first' })).to.deep.equal([])
    expect(await reasonsOf(undefined, { present: 'first' })).to.deep.equal([])
  })

  it('lists a grant whose principal is missing or was recreated under the id', async () => {
    expect(await reasonsOf(undefined, {})).to.deep.equal(['PrincipalMissing'])
    expect(await reasonsOf('first', { present: 'second' })).to.deep.equal(['PrincipalMissing'])
  })

  it('omits a grant of an external principal, unless it names the incarnation of a deleted record', async () => {
    expect(await reasonsOf(undefined, { isExternal: true })).to.deep.equal([])
    expect(await reasonsOf('first', { isExternal: true })).to.deep.equal(['PrincipalMissing'])
  })
})
