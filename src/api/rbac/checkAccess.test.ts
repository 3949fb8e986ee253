import { expect } from 'chai'
import { ANNA, assign, B1, B2, BERT, deny, SHOP, TEAM } from '../../../test/make/authorizationRecords.ts'
import { codeOf, makeFacade } from '../../../test/worlds/facade.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { PlatformClient, PlatformUser } from '../../crds/identity.ts'
import { BUILT_IN_ROLES } from '../../iam/roles.ts'
import { checkAccessRoutes, readChecks } from './checkAccess.ts'

const ONE = B1.slice(12)
const roles = [...BUILT_IN_ROLES]
const path = `${B1}/providers/authorization/checkAccess`

type Results = { principalId: string; results: { allowed: boolean; reason: string; decidedBy: object | null }[] }

describe('checkAccess', () => {
  const owner = () => {
    const facade = makeFacade({
      roles,
      assignments: [
        assign('Contributor', B1, { id: 'direct' }),
        assign('Secrets Reader', SHOP, { id: 'grouped', principalId: TEAM, principalType: 'Group' }),
        assign('Reader', B1, { id: 'later', principalId: BERT, expiresAt: Date.UTC(2027, 0, 1) }),
      ],
      groups: [{ id: TEAM, memberIds: [ANNA] }],
      denies: [deny(SHOP, ['vectorcluster/delete'], { id: 'hold' })],
    })
    facade.boundary(ONE)
    facade.records.put(PlatformUser, { namespace: SYSTEM_NAMESPACE, name: BERT }, { userName: 'bert' })
    return facade
  }
  const ask = async (checks: object[], more: object = {}) =>
    (await owner().call(checkAccessRoutes, 'POST', path, { body: { checks, ...more } })).body as Results

  const explained: [string, object, object][] = [
    [
      'the assignment that allows an action',
      { action: 'vectorcluster/write' },
      {
        allowed: true,
        reason: 'AllowedByAssignment',
        scope: B1,
        decidedBy: {
          kind: 'RoleAssignment',
          id: 'direct',
          roleDefinitionName: 'Contributor',
          scope: B1,
          viaGroupId: null,
          expiresAt: null,
        },
      },
    ],
    [
      'the group that grants a data action',
      { action: 'secretvault/readSecrets', scope: `${SHOP}/resources/secretvaults/main`, isDataAction: true },
      {
        allowed: true,
        reason: 'AllowedByAssignment',
        decidedBy: {
          kind: 'RoleAssignment',
          id: 'grouped',
          roleDefinitionName: 'Secrets Reader',
          scope: SHOP,
          viaGroupId: TEAM,
          expiresAt: null,
        },
      },
    ],
    [
      'the deny that overrides an assignment',
      { action: 'vectorcluster/delete', scope: SHOP },
      {
        allowed: false,
        reason: 'DeniedByAssignment',
        decidedBy: {
          kind: 'DenyAssignment',
          id: 'hold',
          roleDefinitionName: null,
          scope: SHOP,
          viaGroupId: null,
          expiresAt: null,
        },
      },
    ],
    [
      'NoAssignment for an action without a grant',
      { action: 'rbac/members/write' },
      { allowed: false, reason: 'NoAssignment', decidedBy: null },
    ],
    [
      'RootOnly for an action of the root',
      { action: 'boundaries/delete' },
      { allowed: false, reason: 'RootOnly', decidedBy: null },
    ],
    [
      'the result for an action of gateways',
      { action: 'llmgateway/invoke' },
      { allowed: true, reason: 'AllowedByAssignment' },
    ],
  ]
  for (const [title, check, wanted] of explained) {
    it(`returns ${title}`, async () => expect((await ask([check])).results[0]).to.deep.include(wanted))
  }

  it('answers checks in order, and a single check like a list of one', async () => {
    const { results } = await ask([{ action: 'jobs/read' }, { action: 'boundaries/delete' }])
    expect(results.map(({ allowed }) => allowed)).to.deep.equal([true, false])
    const { body } = await owner().call(checkAccessRoutes, 'POST', path, { body: { action: 'jobs/read', scope: SHOP } })
    expect((body as Results).results).to.have.length(1)
    expect((body as Results).results[0]).to.deep.include({ action: 'jobs/read', scope: SHOP, allowed: true })
  })

  it('answers about others with rbac/members/read, with expiresAt', async () => {
    const { principalId, results } = await ask([{ action: 'jobs/read' }], { principalId: BERT })
    expect(principalId).to.equal(BERT)
    expect(results[0]?.decidedBy).to.deep.include({ id: 'later', expiresAt: '2027-01-01T00:00:00Z' })
  })

  const ended: [string, typeof PlatformUser | typeof PlatformClient, object, object][] = [
    ['a disabled user', PlatformUser, { userName: 'bert', isEnabled: false }, { reason: 'PrincipalDisabled' }],
    [
      'a disabled service account',
      PlatformClient,
      { displayName: 'bert', secretName: 'x', isEnabled: false },
      { reason: 'PrincipalDisabled' },
    ],
  ]
  for (const [title, kind, spec, expected] of ended) {
    it(`returns PrincipalDisabled for ${title} despite its assignments`, async () => {
      const facade = owner()
      facade.records.remove(PlatformUser, { namespace: SYSTEM_NAMESPACE, name: BERT }, {} as never)
      facade.records.put(kind, { namespace: SYSTEM_NAMESPACE, name: BERT }, spec)
      const { body } = await facade.call(checkAccessRoutes, 'POST', path, {
        body: { principalId: BERT, action: 'jobs/read' },
      })
      expect((body as Results).results).to.deep.equal([
        { action: 'jobs/read', scope: B1, allowed: false, decidedBy: null, ...expected },
      ])
    })
  }

  it('returns PrincipalNotFound for a deleted principal', async () => {
    const facade = owner()
    await facade.records.remove(PlatformUser, { namespace: SYSTEM_NAMESPACE, name: BERT }, {} as never)
    const body = { principalId: BERT, action: 'jobs/read' }
    const answer = await facade.call(checkAccessRoutes, 'POST', path, { body })
    expect((answer.body as Results).results[0]).to.deep.include({ allowed: false, reason: 'PrincipalNotFound' })
  })

  it('returns FORBIDDEN for others without rbac/members/read', async () => {
    const facade = makeFacade({ roles, assignments: [assign('Deployer', SHOP)] })
    facade.boundary(ONE)
    const about = (principalId: string) =>
      codeOf(facade.call(checkAccessRoutes, 'POST', path, { body: { principalId, action: 'jobs/read' } }))
    expect((await about(BERT)).code).to.equal('FORBIDDEN')
    expect((await about(ANNA)).code).to.equal('none')
  })

  it('returns NOT_FOUND for a missing and a hidden boundary', async () => {
    const facade = makeFacade({ roles })
    facade.boundary(ONE)
    const body = { action: 'jobs/read' }
    expect((await codeOf(facade.call(checkAccessRoutes, 'POST', path, { body }))).code).to.equal('NOT_FOUND')
    const missing = `${B2}/providers/authorization/checkAccess`
    expect((await codeOf(facade.call(checkAccessRoutes, 'POST', missing, { body }))).code).to.equal('NOT_FOUND')
  })

  const refused: [string, object, string[]][] = [
    ['no check', {}, ['checks']],
    ['a single check and a list', { action: 'jobs/read', checks: [{ action: 'jobs/read' }] }, ['checks']],
    ['a scope beside a list', { scope: SHOP, checks: [{ action: 'jobs/read' }] }, ['checks']],
    ['an unknown action', { action: 'jobs/levitate' }, ['action']],
    ['a pattern', { action: 'jobs/*' }, ['action']],
    ['a plain action as a data action', { action: 'jobs/read', isDataAction: true }, ['isDataAction']],
    [
      'a scope in another boundary',
      { checks: [{ action: 'jobs/read' }, { action: 'jobs/read', scope: B2 }] },
      ['checks.1.scope'],
    ],
    ['the root as scope', { action: 'jobs/read', scope: '/' }, ['scope']],
    ['a scope with a trailing slash', { action: 'jobs/read', scope: `${B1}/` }, ['scope']],
    [
      'two invalid fields, and reports both',
      { checks: [{ action: 'x', scope: 'y' }] },
      ['checks.0.action', 'checks.0.scope'],
    ],
  ]
  for (const [title, body, fields] of refused) {
    it(`rejects ${title}`, async () => {
      const { code, extras } = await codeOf((async () => readChecks(body as never, ONE))())
      expect(code).to.equal('BAD_REQUEST')
      expect((extras.errors as { field: string }[]).map(({ field }) => field)).to.deep.equal(fields)
    })
  }
})
