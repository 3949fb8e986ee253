import { expect } from 'chai'
import { ScopeTree } from './scopeTree.ts'

const BOUNDARY = '/boundaries/3f0c1a52-8f3e-4a53-9d5c-0d0c8c3f7b11'
const groups = (count: number) => Array.from({ length: count }, (_, index) => `${BOUNDARY}/resourcegroups/g-${index}`)

describe('ScopeTree', () => {
  it('remembers the texts of all 40,000 retained scopes', () => {
    const tree = new ScopeTree()
    const texts = groups(40_000)
    for (const text of texts) tree.retain(text)
    for (const text of texts) tree.locate(text)
    expect(tree.remembered).to.equal(texts.length)
  })

  it('remembers at most 20,000 texts of scopes that no record names', () => {
    const tree = new ScopeTree()
    tree.retain(BOUNDARY)
    for (const text of groups(40_000)) tree.locate(text)
    expect(tree.remembered).to.be.at.most(20_000)
  })

  it('remembers at most 20,000 texts after the records are removed', () => {
    const tree = new ScopeTree()
    tree.retain(BOUNDARY)
    const nodes = groups(40_000).map((text) => tree.retain(text))
    for (const node of nodes) tree.release(node)
    for (const text of groups(40_000)) tree.locate(text)
    expect(tree.remembered).to.be.at.most(20_000)
  })
})
