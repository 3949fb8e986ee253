import { expect } from 'chai'
import { actionsOfKinds, gatherKubernetesForms, type KindActions } from './kubernetesForm.ts'

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

describe('gatherKubernetesForms', () => {
  it('maps an action to its verbs and a verb to its action', () => {
    const forms = gatherKubernetesForms([vaults])
    expect(forms.formsOf('secretvault/delete')).to.deep.equal([
      { group: 'data.freehold.dev', resource: 'secretvaults', verbs: ['delete'] },
    ])
    expect(forms.actionOf('data.freehold.dev', 'secretvaults', 'patch')).to.equal('secretvault/write')
    expect(forms.actionOf('data.freehold.dev', 'secretvaults', 'readsecrets')).to.equal('secretvault/readSecrets')
  })

  it('returns no form for an unknown action and no action for an unknown verb', () => {
    const forms = gatherKubernetesForms([vaults])
    expect(forms.formsOf('lifecycle/plan')).to.deep.equal([])
    expect(forms.actionOf('data.freehold.dev', 'secretvaults', 'deletecollection')).to.equal(undefined)
    expect(forms.actionOf('', 'secretvaults', 'get')).to.equal(undefined)
  })

  it('accepts two kinds for one action', () => {
    const revisions: KindActions = {
      group: 'data.freehold.dev',
      resource: 'vaultrevisions',
      verbs: { 'secretvault/read': ['get'] },
    }
    expect(gatherKubernetesForms([vaults, revisions]).formsOf('secretvault/read')).to.have.length(2)
  })

  it('rejects one verb of a resource for two actions', () => {
    const again: KindActions = { ...vaults, verbs: { 'jobs/write': ['create'] } }
    expect(() => gatherKubernetesForms([vaults, again])).to.throw(RangeError, 'declare it once')
  })

  for (const verb of ['*', '', 'Get', 'get,list', 'get/status']) {
    it(`rejects the verb ${JSON.stringify(verb)}`, () => {
      expect(() => gatherKubernetesForms([{ ...vaults, verbs: { 'jobs/read': [verb] } }])).to.throw(RangeError)
    })
  }
})

describe('actionsOfKinds', () => {
  const resource = { group: 'data.freehold.dev', version: 'v1', plural: 'secretvaults', kind: 'V', namespaced: true }
  const declared = (kind: object) => gatherKubernetesForms(actionsOfKinds([{ resource, ...kind } as never]))

  it('derives the standard verbs of a prefix, and virtual verbs for data actions', () => {
    const forms = declared({ actions: 'secretvault' })
    const asked = ['watch', 'update', 'patch', 'deletecollection', 'readsecrets', 'writesecrets', 'grant']
    expect(asked.map((verb) => forms.actionOf('data.freehold.dev', 'secretvaults', verb))).to.deep.equal([
      'secretvault/read',
      'secretvault/write',
      'secretvault/write',
      'secretvault/delete',
      'secretvault/readSecrets',
      'secretvault/writeSecrets',
      undefined,
    ])
  })

  it('derives a scale action for the scale subresource', () => {
    const forms = declared({ actions: 'vectorcluster', scale: {} })
    for (const verb of ['update', 'patch'])
      expect(forms.actionOf('data.freehold.dev', 'secretvaults/scale', verb)).to.equal('vectorcluster/scale')
    expect(forms.actionOf('data.freehold.dev', 'secretvaults/scale', 'get')).to.equal('vectorcluster/read')
    const unscaled = declared({ actions: 'vectorcluster' })
    expect(unscaled.actionOf('data.freehold.dev', 'secretvaults/scale', 'get')).to.equal(undefined)
  })

  it('uses the forms of the kind instead, where an empty list means none', () => {
    const forms = declared({ actions: 'secretvault', forms: { 'secretvault/delete': [] } })
    expect(forms.actionOf('data.freehold.dev', 'secretvaults', 'delete')).to.equal(undefined)
  })

  it('rejects an unknown action', () => {
    expect(() => declared({ forms: { 'secretvault/levitate': ['get'] } })).to.throw(RangeError, 'levitate')
  })
})
