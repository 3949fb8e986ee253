import { expect } from 'chai'
import { ACTIONS } from '../../src/core/actions.ts'
import { KINDS } from '../../src/crds/index.ts'
import { crdManifest } from '../../src/crds/manifest.ts'
import { actionsOfKinds, gatherKubernetesForms } from '../../src/iam/kubernetesForm.ts'
import { actionNames, compilePermissions } from '../../src/iam/permissions.ts'
import { BUILT_IN_ROLES } from '../../src/iam/roles.ts'

describe('Kubernetes forms of the declared kinds', () => {
  const forms = gatherKubernetesForms(actionsOfKinds(KINDS))
  const prefixed = KINDS.filter(({ actions }) => actions !== undefined)

  it('are found', () => {
    expect(prefixed.length).to.be.at.least(3)
    expect(forms.formsOf('vectorcluster/write').map(({ verbs }) => verbs)).to.deep.equal([
      ['create', 'update', 'patch'],
    ])
  })

  for (const { kind, actions, restOnly = [] } of prefixed) {
    it(`cover every action of ${kind} that is not REST-only`, () => {
      const names = ACTIONS.map(({ name }) => name).filter((name) => name.startsWith(`${actions}/`))
      const hasForm = (name: (typeof names)[number]) => forms.formsOf(name).some(({ verbs }) => verbs.length > 0)
      expect(names).not.to.deep.equal([])
      expect(names.filter((name) => !hasForm(name) && !restOnly.includes(name))).to.deep.equal([])
      expect(restOnly.filter((name) => hasForm(name as (typeof names)[number]))).to.deep.equal([])
    })
  }

  it('protect existing fields with declared verbs', () => {
    for (const { kind, spec, resource, protectedFields = {} } of KINDS) {
      for (const [field, verb] of Object.entries(protectedFields)) {
        expect(Object.keys(spec.shape), kind).to.include(field)
        if (verb !== 'administrators')
          expect(forms.actionOf(resource.group, resource.plural, verb), `${kind} ${verb}`).not.to.equal(undefined)
      }
    }
  })

  const inCategory = KINDS.filter((kind) => {
    const { names } = (crdManifest(kind) as unknown as { spec: { names: { categories: string[] } } }).spec
    return names.categories.includes('freehold')
  })
  for (const roleName of ['Owner', 'Reader'])
    it(`let ${roleName} of a boundary list all kinds of the category "freehold" in its namespaces`, () => {
      const role = BUILT_IN_ROLES.find(({ displayName }) => displayName === roleName)
      if (role === undefined) throw new Error(`There is no role ${roleName}.`)
      const held = actionNames(compilePermissions(role).belowRoot)
      const mayList = KINDS.filter(({ placement, resource: { group, plural } }) => {
        const action = forms.actionOf(group, plural, 'list')
        return !['cluster', 'platform'].includes(placement) && action !== undefined && held.includes(action)
      })
      expect(inCategory.map(({ kind }) => kind)).to.deep.equal(mayList.map(({ kind }) => kind))
    })
})
