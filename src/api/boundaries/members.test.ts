import { expect } from 'chai'
import { ANNA, assign, B1, BERT, TEAM } from '../../../test/make/authorizationRecords.ts'
import type { PagedListResponse } from '../../../test/make/page.ts'
import { request } from '../../../test/make/request.ts'
import { codeOf, makeFacade } from '../../../test/worlds/facade.ts'
import { bearer, startFacade } from '../../../test/worlds/facadeServer.ts'
import { INCARNATION_ANNOTATION, PRINCIPAL_INCARNATIONS_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { PlatformUser } from '../../crds/identity.ts'
import { PrincipalGroup, RoleAssignment } from '../../crds/rbac.ts'
import { BUILT_IN_ROLES } from '../../iam/roles.ts'
import type { BoundaryMemberDto } from '../rules/memberRecord.ts'
import { memberRoutes } from './members.ts'

const ID = B1.slice(12)
const SPACE = boundaryNamespace(ID)
const path = `${B1}/members`
const roles = [...BUILT_IN_ROLES]
const TENANT = '66666666-6666-4666-8666-666666666666'
const ASSIGNMENT = '55555555-5555-4555-8555-555555555555'

describe('members of a boundary over REST', () => {
  const prepare = (given: Parameters<typeof makeFacade>[0] = { assignments: [assign('Owner', B1)] }) => {
    const facade = makeFacade({ roles, ...given })
    facade.boundary(ID)
    facade.group(ID, 'shop')
    const { records } = facade
    for (const id of [ANNA, BERT]) {
      records.put(
        PlatformUser,
        { namespace: SYSTEM_NAMESPACE, name: id },
        { userName: id.slice(0, 4), tenantIds: [TENANT] },
      )
    }
    const put = (name: string, spec: object, namespace = SPACE) =>
      records.put(
        RoleAssignment,
        { namespace, name },
        { principalId: ANNA, principalType: 'User', roleDefinitionName: 'Owner', scope: B1, ...spec },
      )
    const add = (body: object) => facade.call(memberRoutes, 'POST', path, { body })
    const remove = (id: string) => facade.call(memberRoutes, 'DELETE', `${path}/${id}`)
    const list = async () =>
      ((await facade.call(memberRoutes, 'GET', path)).body as PagedListResponse<BoundaryMemberDto>).items
    return { ...facade, put, add, remove, list }
  }

  it('lists the assignments above, at and below the boundary that are in force', async () => {
    const { put, list } = prepare()
    put('own', {})
    put('below', { scope: `${B1}/resourcegroups/shop`, roleDefinitionName: 'Reader' })
    put('above', { scope: '/', principalId: BERT }, SYSTEM_NAMESPACE)
    put('over', { expiresAt: '2020-01-01T00:00:00Z' })
    put('misplaced', { scope: '/' })
    put('earlier', { scopeIncarnation: 'of an earlier life' })
    const members = await list()
    expect(members.map(({ origin, scope, displayName }) => [origin, scope, displayName]).sort()).to.deep.equal([
      ['Direct', B1, '1111'],
      ['Direct', `${B1}/resourcegroups/shop`, '1111'],
      ['Inherited', '/', '2222'],
    ])
  })

  const refused: [string, object, string][] = [
    ['an unknown role before an unknown principal', { principalId: TEAM, roleDefinitionName: 'owner' }, 'unknown_role'],
    [
      'a role of the root before an unknown principal',
      { principalId: TEAM, roleDefinitionName: 'Platform Reader' },
      'forbidden',
    ],
    ['an unknown principal', { principalId: TEAM, roleDefinitionName: 'Owner' }, 'PRINCIPAL_NOT_FOUND'],
    [
      'another type than that of the principal',
      { principalId: BERT, principalType: 'Group', roleDefinitionName: 'Owner' },
      'PRINCIPAL_NOT_FOUND',
    ],
    [
      'an existing member before a role that exceeds the caller',
      { principalId: ANNA, roleDefinitionName: 'Owner' },
      'already_member',
    ],
    ['a role that exceeds the caller', { principalId: BERT, roleDefinitionName: 'Owner' }, 'GRANT_EXCEEDS_CALLER'],
  ]
  for (const [title, body, code] of refused) {
    it(`rejects ${title}: ${code}`, async () => {
      const { add, put } = prepare({ assignments: [assign('Contributor', B1)] })
      put('own', {})
      expect((await codeOf(add(body))).code).to.equal(code)
    })
  }

  it('rejects a grant by a Platform Owner to a group that contains the caller', async () => {
    const { add, records } = prepare({ assignments: [assign('Platform Owner', '/')] })
    const group = (memberIds: string[]) =>
      records.put(PrincipalGroup, { namespace: SPACE, name: TEAM }, { displayName: 'Team', memberIds })
    group([ANNA])
    const body = { principalId: TEAM, roleDefinitionName: 'Owner' }
    expect((await codeOf(add(body))).code).to.equal('GRANT_EXCEEDS_CALLER')
    group([BERT])
    expect((await add(body)).status).to.equal(201)
  })

  const owners: [string, object | undefined, string][] = [
    ['as the only one', undefined, 'LAST_OWNER'],
    ['next to one that expires', { principalId: BERT, expiresAt: '2099-01-01T00:00:00Z' }, 'LAST_OWNER'],
    ['next to an unknown principal', { principalId: TEAM }, 'LAST_OWNER'],
    ['next to an empty group', { principalId: TEAM, principalType: 'Group' }, 'LAST_OWNER'],
    ['next to a Contributor', { principalId: BERT, roleDefinitionName: 'Contributor' }, 'LAST_OWNER'],
    ['next to another Owner', { principalId: BERT }, 'none'],
  ]
  for (const [title, other, code] of owners) {
    it(`checks the last Owner on removal, ${title}: ${code}`, async () => {
      const { put, remove } = prepare()
      put(ASSIGNMENT, {})
      if (other !== undefined) put('other', other)
      expect((await codeOf(remove(ASSIGNMENT))).code).to.equal(code)
    })
  }

  for (const [life, code] of [
    ['first', 'none'],
    ['second', 'LAST_OWNER'],
  ] as const) {
    it(`checks the last Owner on removal, next to a group with a member of the ${life} incarnation: ${code}`, async () => {
      const { put, remove, records } = prepare()
      put(ASSIGNMENT, {})
      put('other', { principalId: TEAM, principalType: 'Group' })
      const annotations = { [PRINCIPAL_INCARNATIONS_ANNOTATION]: JSON.stringify({ [BERT]: 'first' }) }
      const group = { displayName: 'Team', memberIds: [BERT] }
      records.put(PrincipalGroup, { namespace: SPACE, name: TEAM, annotations }, group)
      const bert = { namespace: SYSTEM_NAMESPACE, name: BERT, annotations: { [INCARNATION_ANNOTATION]: life } }
      records.put(PlatformUser, bert, { userName: 'bert' })
      expect((await codeOf(remove(ASSIGNMENT))).code).to.equal(code)
    })
  }

  it('returns INHERITED_ASSIGNMENT for an assignment of the root, and 404 for a missing one', async () => {
    const { put, remove } = prepare()
    put(ASSIGNMENT, { scope: '/' }, SYSTEM_NAMESPACE)
    const { code, extras } = await codeOf(remove(ASSIGNMENT))
    expect([code, extras.scope]).to.deep.equal(['INHERITED_ASSIGNMENT', '/'])
    expect((await codeOf(remove(TEAM))).code).to.equal('NOT_FOUND')
  })
})

describe('POST /boundaries/{id}/members over HTTP', () => {
  let server: Awaited<ReturnType<typeof startFacade>>
  before(async () => {
    server = await startFacade()
  })
  after(() => server.stop())

  it('returns an ETag but no Location, since only the list shows members', async () => {
    server.boundary(ID)
    for (const id of [ANNA, BERT]) server.put(PlatformUser, id, { userName: id.slice(0, 4) }, SYSTEM_NAMESPACE)
    server.grant(BERT, 'Owner', '/')
    server.grant(BERT, 'Owner', B1)
    const answer = await request(server.app)
      .post(path)
      .set('authorization', bearer(BERT))
      .send({ principalId: ANNA, roleDefinitionName: 'Reader' })
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201)
    expect(answer.headers).to.not.have.property('location')
    expect(answer.headers.etag).to.match(/^"1-\d+-\w+"$/)
  })
})
