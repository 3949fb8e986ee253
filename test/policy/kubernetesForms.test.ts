import { expect } from 'chai'
import { ACTIONS } from '../../src/core/actions.ts'
import { KINDS } from '../../src/crds/index.ts'
import { actionsOfKinds, gatherKubernetesForms } from '../../src/iam/kubernetesForm.ts'

describe('Kubernetes forms of the kinds that are built', () => {
  const forms = gatherKubernetesForms(actionsOfKinds(KINDS))
  const prefixed = KINDS.filter(({ actions }) => actions !== undefined)

  it('are seen at all', () => {
    expect(prefixed.length).to.be.at.least(3)
    expect(forms.formsOf('vectorcluster/write').map(({ verbs }) => verbs)).to.deep.equal([
      ['create', 'update', 'patch'],
    ])
  })

  for (const { kind, actions, restOnly = [] } of prefixed) {
    it(`exist for every action of ${kind}, or the kind lists it as REST only`, () => {
      const names = ACTIONS.map(({ name }) => name).filter((name) => name.startsWith(`${actions}/`))
      const hasForm = (name: (typeof names)[number]) => forms.formsOf(name).some(({ verbs }) => verbs.length > 0)
      expect(names).not.to.deep.equal([])
      expect(names.filter((name) => !hasForm(name) && !restOnly.includes(name))).to.deep.equal([])
      expect(restOnly.filter((name) => hasForm(name as (typeof names)[number]))).to.deep.equal([])
    })
  }

  it('protect only fields that the kind has, by verbs that it declares', () => {
    for (const { kind, spec, resource, protectedFields = {} } of KINDS) {
      for (const [field, verb] of Object.entries(protectedFields)) {
        expect(Object.keys(spec.shape), kind).to.include(field)
        if (verb !== 'administrators')
          expect(forms.actionOf(resource.group, resource.plural, verb), `${kind} ${verb}`).not.to.equal(undefined)
      }
    }
  })
})
