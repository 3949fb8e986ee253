import { expect } from 'chai'
import type { GivenArguments, Verb } from './collection.ts'
import { chooseRoute, deriveCollections, findCollection } from './collections.ts'

const here: GivenArguments = { name: 'n', boundary: 'b' }

describe('chooseRoute with a verb that the kind does not support', () => {
  const collections = deriveCollections()
  const said = (verb: Verb, word: string, given = here) => {
    try {
      return chooseRoute(findCollection(word, collections), verb, given).route.path
    } catch (error) {
      return (error as Error).message
    }
  }
  const cases: [verb: Verb, word: string, request: string][] = [
    ['create', 'source', "POST /boundaries/b/sources/<sourceName>/create -d '{...}'"],
    ['delete', 'source', 'DELETE /boundaries/b/sources/<sourceName>/<deploymentSourceId>'],
    ['create', 'blueprint', "POST /boundaries/b/resources/blueprints/templates -d '{...}'"],
    ['delete', 'blueprint', 'DELETE /boundaries/b/resources/blueprints/templates/<slug>'],
    ['create', 'deploy', 'POST /boundaries/b/resourcegroups/<resourceGroupName>/resources/blueprints/<slug>/deploy'],
    ['create', 'install', 'POST /lifecycle/components/<name>/install'],
  ]
  for (const [verb, word, request] of cases)
    it(`suggests the request that does it: ${verb} ${word}`, () => {
      expect(said(verb, word)).to.include(`\n  freehold call ${request}`)
    })

  it('fills in the default boundary and group', () => {
    const { boundary: _, ...nowhere } = here
    expect(said('create', 'deploy', { ...nowhere, defaults: { boundary: 'b', group: 'g' } })).to.include(
      ' POST /boundaries/{boundary}/resourcegroups/{group}/resources/blueprints/<slug>/deploy',
    )
  })

  it('suggests no request if the interface has none', () => {
    expect(said('create', 'vectorcomputeplan')).to.equal(
      'The interface cannot create vectorcomputeplans; `freehold kinds` shows what it can.',
    )
  })
})
