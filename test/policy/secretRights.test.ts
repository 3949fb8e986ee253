import { expect } from 'chai'
import { readManifests } from '../../scripts/platform/manifests.ts'
import { boundarySecretBindings } from '../../src/desired/boundaries.ts'
import { secretBindings } from '../../src/desired/resourcegroups.ts'

type Role = { kind: string; metadata: { name: string }; rules: { resources: string[]; verbs: string[] }[] }
type Binding = { roleRef: { name: string }; subjects: { name: string }[] }

/** The verbs of a watch. */
const WATCHED = ['list', 'watch']

describe('rights on Secrets of tenants', () => {
  const roles = readManifests(new URL('../../deploy/manifests/rbac.yaml', import.meta.url).pathname) as never as Role[]

  /** An account's rights on Secrets of a namespace with these bindings. */
  function verbsOf(account: string, bindings: readonly object[]): Set<string> {
    const bound = (bindings as Binding[]).filter(({ subjects }) => subjects.some(({ name }) => name === account))
    const rules = bound.flatMap(({ roleRef }) => {
      const role = roles.find(({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === roleRef.name)
      expect(role, `the ClusterRole ${roleRef.name}`).to.not.equal(undefined)
      return role?.rules ?? []
    })
    return new Set(rules.flatMap(({ resources, verbs }) => (resources.includes('secrets') ? verbs : [])))
  }

  for (const [place, bindings] of [
    ['boundary', boundarySecretBindings('n')],
    ['group', secretBindings('n')],
  ] as const) {
    it(`in a ${place} let the controllers watch and the facade only get single ones`, () => {
      expect(verbsOf('freehold-controllers', bindings)).to.include.all.keys('get', 'create', 'patch', ...WATCHED)
      const ofFacade = verbsOf('freehold-facade', bindings)
      expect(ofFacade).to.include.keys('get')
      expect(ofFacade).to.not.have.any.keys(...WATCHED)
    })
  }
})
