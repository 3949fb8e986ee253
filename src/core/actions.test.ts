import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { ACTIONS, findAction, isKnownAction, isOpenAction } from './actions.ts'

type GoldenRoute = { action?: string; dataAction?: boolean }
const golden = new URL('../api/http/interface.json', import.meta.url)
const routes: GoldenRoute[] = JSON.parse(readFileSync(golden, 'utf8')).routes

describe('actions', () => {
  it('are the actions of the route table, both ways, each once', () => {
    const inRoutes = new Set(routes.flatMap((route) => route.action ?? []))
    expect(inRoutes.size).to.equal(111)
    expect(ACTIONS.map((action) => action.name).toSorted()).to.deep.equal([...inRoutes].toSorted())
  })

  it('carry the data flag of every route that names them', () => {
    let seen = 0
    for (const route of routes) {
      if (route.action === undefined) continue
      seen += 1
      expect(findAction(route.action)?.isData, route.action).to.equal(route.dataAction)
    }
    expect(seen).to.equal(352)
    expect(ACTIONS.filter((action) => action.isData)).to.have.length(17)
  })

  it('are root actions where only the platform root can grant them', () => {
    const families = ['kernel/clusters/', 'lifecycle/', 'monitoring/platform/', 'registry/']
    const alone = [
      'boundaries/create',
      'boundaries/delete',
      'boundaries/tenant/admin',
      'rbac/boundaryTrusts/admin',
      'rbac/idpBindings/admin',
      'rbac/members/admin',
      'rbac/projector/apply',
    ]
    const expected = ACTIONS.filter(
      ({ name }) => alone.includes(name) || families.some((family) => name.startsWith(family)),
    )
    expect(ACTIONS.filter((action) => action.isRoot)).to.deep.equal(expected)
    expect(expected).to.have.length(19)
  })

  it('know their own place', () => {
    ACTIONS.forEach((action, index) => {
      expect(action.index).to.equal(index)
    })
  })

  const open: [string, string, boolean][] = [
    ['a gateway action', 'llmgateway/invoke', true],
    ['a registry action that the interface does not list', 'registry/pull', true],
    ['a registry action of several segments', 'registry/images/push', true],
    ['a registry action that the interface lists', 'registry/audit/read', false],
    ['the prefix alone', 'registry/', false],
    ['the prefix without its slash', 'registry', false],
    ['a name that only begins like the prefix', 'registryx/pull', false],
    ['a pattern', 'registry/*', false],
    ['a parent segment', 'registry/../apps/read', false],
    ['an unknown action elsewhere', 'apps/fly', false],
    ['a trailing newline', 'registry/pull\n', false],
    ['a megabyte', `registry/${'a'.repeat(1_048_576)}`, false],
  ]
  for (const [sentence, name, expected] of open) {
    it(`${expected ? 'take' : 'do not take'} ${sentence} as open`, () => {
      expect(isOpenAction(name)).to.equal(expected)
    })
  }

  it('do not take the names of object members for actions', () => {
    for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty'])
      expect(isKnownAction(name)).to.equal(false)
  })
})
