import { expect } from 'chai'
import { gatherKubernetesForms, type KindActions } from './kubernetesForm.ts'

const vaults: KindActions = {
  group: 'data.freehold.dev',
  resource: 'secretvaults',
  verbs: {
    'secretvault/read': ['get', 'list', 'watch'],
    'secretvault/write': ['create', 'update', 'patch'],
    'secretvault/delete': ['delete'],
    'secretvault/readSecrets': ['readsecrets'],
  },
}

describe('Kubernetes forms of actions', () => {
  it('lead from an action to its verbs and from a verb to its action', () => {
    const forms = gatherKubernetesForms([vaults])
    expect(forms.formsOf('secretvault/delete')).to.deep.equal([
      { group: 'data.freehold.dev', resource: 'secretvaults', verbs: ['delete'] },
    ])
    expect(forms.actionOf('data.freehold.dev', 'secretvaults', 'patch')).to.equal('secretvault/write')
    expect(forms.actionOf('data.freehold.dev', 'secretvaults', 'readsecrets')).to.equal('secretvault/readSecrets')
  })

  it('are empty for an action that no kind names', () => {
    const forms = gatherKubernetesForms([vaults])
    expect(forms.formsOf('lifecycle/plan')).to.deep.equal([])
    expect(forms.actionOf('data.freehold.dev', 'secretvaults', 'deletecollection')).to.equal(undefined)
    expect(forms.actionOf('', 'secretvaults', 'get')).to.equal(undefined)
  })

  it('may come from two kinds for one action', () => {
    const revisions: KindActions = {
      group: 'data.freehold.dev',
      resource: 'vaultrevisions',
      verbs: { 'secretvault/read': ['get'] },
    }
    expect(gatherKubernetesForms([vaults, revisions]).formsOf('secretvault/read')).to.have.length(2)
  })

  it('refuse one verb of a resource for two actions', () => {
    const again: KindActions = { ...vaults, verbs: { 'jobs/write': ['create'] } }
    expect(() => gatherKubernetesForms([vaults, again])).to.throw(RangeError, 'declare it once')
  })

  for (const verb of ['*', '', 'Get', 'get,list', 'get/status']) {
    it(`refuse ${JSON.stringify(verb)} as a verb`, () => {
      expect(() => gatherKubernetesForms([{ ...vaults, verbs: { 'jobs/read': [verb] } }])).to.throw(RangeError)
    })
  }
})
