import { expect } from 'chai'
import { patternFaults } from '../core/actionPatterns.ts'
import { ACTIONS, isKnownAction } from '../core/actions.ts'
import { compilePermissions, coversOpenAction, hasAction } from './permissions.ts'
import { BUILT_IN_ROLES, isRootOnly } from './roles.ts'

/** The roles that hold the actions of a row at `/`; below it, the same without the rows of root actions. */
type Row = { actions: string; roles: string; root?: true }

const EVERYONE_WHO_READS = 'Owner, Contributor, Reader, Platform Owner, Platform Contributor, Platform Reader, Deployer'

const ROWS: Row[] = [
  {
    roles: EVERYONE_WHO_READS,
    actions:
      'apps/read, blueprints/read, boundaries/read, boundaries/members/read, boundaries/network/read, containerinstance/read, functions/read, jobs/read, kernel/activity/read, kernel/deployments/read, managedidentities/read, monitoring/read, objectaccesskeys/read, objectbuckets/read, objectstorageaccounts/read, rbac/members/read, relationalcluster/read, resourcegroups/read, sqlcluster/read, sqlcluster/schemaRead, staticwebapp/read, vectorcluster/read',
  },
  { roles: `${EVERYONE_WHO_READS}, Cluster Agent`, actions: 'boundaries/projections/read' },
  { roles: `${EVERYONE_WHO_READS}, Secrets Officer, Secrets Reader`, actions: 'secretvault/read' },
  {
    roles: 'Owner, Contributor, Platform Owner',
    actions:
      'apps/write, apps/delete, containerinstance/write, containerinstance/delete, functions/write, functions/delete, jobs/write, jobs/delete, relationalcluster/write, relationalcluster/delete, relationalcluster/scale, relationalcluster/createSnapshot, relationalcluster/deleteSnapshot, relationalcluster/restoreSnapshot, sqlcluster/write, sqlcluster/delete, sqlcluster/manageLicense, staticwebapp/write, staticwebapp/delete, staticwebapp/scale, vectorcluster/write, vectorcluster/delete, vectorcluster/scale, secretvault/write, secretvault/delete, objectstorageaccounts/write, objectstorageaccounts/delete, objectbuckets/write, objectbuckets/delete, resourcegroups/write, resourcegroups/delete, managedidentities/write, managedidentities/delete, kernel/deployments/write, kernel/deployments/delete, blueprints/templates/write, object/audit/read',
  },
  { roles: 'Owner, Contributor, Platform Owner, Deployer, Cluster Agent', actions: 'kernel/activity/write' },
  {
    roles: 'Owner, Contributor',
    actions:
      'sqlcluster/dataRead, sqlcluster/dataWrite, objectaccesskeys/write, objectaccesskeys/delete, objectsts/issue',
  },
  { roles: 'Owner, Contributor, Deployer', actions: 'kernel/deployments/token' },
  {
    roles: 'Owner, Contributor',
    actions:
      'apps/readFiles, apps/writeFiles, containerinstance/readFiles, containerinstance/writeFiles, vectorcluster/readSecrets, vectorcluster/writeSecrets, relationalcluster/readSecrets, sqlcluster/readSecrets',
  },
  {
    roles: 'Owner, Contributor, Deployer',
    actions:
      'apps/readLogs, containerinstance/readLogs, functions/readLogs, jobs/readLogs, staticwebapp/readLogs, staticwebapp/deploy',
  },
  { roles: 'Owner, Secrets Officer, Secrets Reader', actions: 'secretvault/readSecrets' },
  { roles: 'Owner, Secrets Officer', actions: 'secretvault/writeSecrets' },
  { roles: 'Owner', actions: 'managedidentities/readSecrets' },
  { roles: 'Owner, Platform Owner', actions: 'boundaries/manage, boundaries/projections/manage' },
  { roles: 'Owner, Platform Owner, Cluster Agent', actions: 'crosslink/admin' },
  {
    roles: 'Owner, Platform Owner',
    actions:
      'boundaries/members/manage, boundaries/invitations/read, boundaries/invitations/create, rbac/members/write',
  },
  {
    root: true,
    roles: 'Owner, Platform Owner, Platform Contributor',
    actions:
      'boundaries/create, kernel/clusters/write, lifecycle/plan, lifecycle/execute, lifecycle/rollback, lifecycle/install, lifecycle/backupsManage, registry/retention/manage',
  },
  {
    root: true,
    roles: 'Owner, Platform Owner, Platform Contributor, Alert Publisher',
    actions: 'monitoring/platform/alerts/write',
  },
  {
    root: true,
    roles: 'Owner, Platform Owner, Platform Contributor, Platform Reader',
    actions: 'kernel/clusters/read, lifecycle/view, monitoring/platform/read, registry/audit/read',
  },
  {
    root: true,
    roles: 'Owner, Platform Owner',
    actions:
      'boundaries/delete, boundaries/tenant/admin, rbac/boundaryTrusts/admin, rbac/idpBindings/admin, rbac/members/admin, rbac/projector/apply',
  },
]

const list = (text: string): string[] => text.split(', ')

describe('built-in roles', () => {
  it('have each action in exactly one row of the table', () => {
    const inRows = ROWS.flatMap((row) => list(row.actions))
    expect(inRows).to.have.length(111)
    expect(inRows.toSorted()).to.deep.equal(ACTIONS.map((action) => action.name).toSorted())
  })

  for (const role of BUILT_IN_ROLES) {
    it(`give ${role.displayName} exactly the actions of the table`, () => {
      const { atRoot, belowRoot } = compilePermissions(role)
      for (const row of ROWS) {
        const holds = list(row.roles).includes(role.displayName)
        for (const name of list(row.actions)) {
          const action = ACTIONS.find((each) => each.name === name)
          if (action === undefined) throw new Error(`${name} is not an action`)
          expect(hasAction(atRoot, action.index), `${name} at the root`).to.equal(holds)
          expect(hasAction(belowRoot, action.index), `${name} in a boundary`).to.equal(holds && row.root === undefined)
          expect(action.isRoot, `${name} is a root action`).to.equal(row.root === true)
        }
      }
    })
  }

  it('are all in the table, except LLM Gateway Consumer', () => {
    const inRows = new Set(ROWS.flatMap((row) => list(row.roles)))
    const names = BUILT_IN_ROLES.map((role) => role.displayName)
    expect(names.filter((name) => !inRows.has(name))).to.deep.equal(['LLM Gateway Consumer'])
    expect([...inRows].filter((name) => !names.includes(name))).to.deep.equal([])
    expect(names).to.have.length(12)
  })

  it('give llmgateway/invoke to Owner, Contributor, Platform Owner and LLM Gateway Consumer', () => {
    const consumer = BUILT_IN_ROLES.filter((role) => coversOpenAction(compilePermissions(role), 'llmgateway/invoke'))
    expect(consumer.map((role) => role.displayName)).to.deep.equal([
      'Owner',
      'Contributor',
      'Platform Owner',
      'LLM Gateway Consumer',
    ])
  })

  it('are root-only only if the interface says so', () => {
    const rootOnly = BUILT_IN_ROLES.filter(isRootOnly).map((role) => role.displayName)
    expect(rootOnly).to.deep.equal([
      'Platform Contributor',
      'Platform Reader',
      'LLM Gateway Consumer',
      'Alert Publisher',
    ])
  })

  it('have names that are valid for Kubernetes objects', () => {
    for (const role of BUILT_IN_ROLES) expect(role.name).to.match(/^[a-z]+(-[a-z]+)*$/)
    expect(new Set(BUILT_IN_ROLES.map((role) => role.name)).size).to.equal(BUILT_IN_ROLES.length)
    expect(BUILT_IN_ROLES.map((role) => role.name)).to.include.members(['platform-owner', 'llm-gateway-consumer'])
  })

  it('contain only known actions and families', () => {
    for (const role of BUILT_IN_ROLES) {
      expect(patternFaults(role), role.name).to.deep.equal([])
      for (const text of [...role.actions, ...role.notActions, ...role.dataActions, ...role.notDataActions]) {
        if (!text.includes('*') && text !== 'llmgateway/invoke') expect(isKnownAction(text), text).to.equal(true)
      }
    }
  })
})
