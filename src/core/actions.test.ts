import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { ACTIONS, findAction, isKnownAction, isOpenAction } from './actions.ts'

type GoldenRoute = { action?: string; dataAction?: boolean }
const golden = new URL('../api/http/interface.json', import.meta.url)
const routes: GoldenRoute[] = JSON.parse(readFileSync(golden, 'utf8')).routes

describe('ACTIONS', () => {
  it('contains exactly the 111 actions of the route table', () => {
    const inRoutes = new Set(routes.flatMap((route) => route.action ?? []))
    expect(inRoutes.size).to.equal(111)
    const names = ACTIONS.map(({ name }) => name)
    expect(
      names.filter((name) => !inRoutes.has(name)),
      'actions of no route in interface.json',
    ).to.deep.equal([])
    expect(
      [...inRoutes].filter((name) => !names.includes(name as never)),
      'add to actions.ts',
    ).to.deep.equal([])
    expect(new Set(names).size).to.equal(names.length)
  })

  it('has the data flag of every route with the action', () => {
    let seen = 0
    for (const route of routes) {
      if (route.action === undefined) continue
      seen += 1
      expect(findAction(route.action)?.isData, route.action).to.equal(route.dataAction)
    }
    expect(seen).to.equal(352)
    expect(ACTIONS.filter((action) => action.isData)).to.have.length(17)
  })

  it('marks actions that only the platform root can grant', () => {
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

  it('has the index of each action', () => {
    ACTIONS.forEach((action, index) => {
      expect(action.index).to.equal(index)
    })
  })

  const open: [string, string, boolean][] = [
    ['a gateway action', 'llmgateway/invoke', true],
    ['a registry action outside of the route table', 'registry/pull', true],
    ['a registry action with several segments', 'registry/images/push', true],
    ['a registry action of the route table', 'registry/audit/read', false],
    ['the prefix alone', 'registry/', false],
    ['the prefix without its slash', 'registry', false],
    ['a name with the same beginning', 'registryx/pull', false],
    ['a pattern', 'registry/*', false],
    ['a parent segment', 'registry/../apps/read', false],
    ['an unknown action of another family', 'apps/fly', false],
    ['a trailing newline', 'registry/pull\n', false],
    ['a mebibyte of name', `registry/${'a'.repeat(1_048_576)}`, false],
  ]
  for (const [sentence, name, expected] of open) {
    it(`isOpenAction is ${expected} for ${sentence}`, () => {
      expect(isOpenAction(name)).to.equal(expected)
    })
  }

  it('isKnownAction is false for names of object properties', () => {
    for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty'])
      expect(isKnownAction(name)).to.equal(false)
  })
})
