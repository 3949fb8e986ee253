import { expect } from 'chai'
import { isRepositoryWithin, parseScopes } from './scopes.ts'

describe('scopes that a client asks for', () => {
  const CASES: [string, string[], string][] = [
    ['one', ['repository:a/b:pull'], 'a/b:pull'],
    ['several in one parameter', ['repository:a:pull repository:b:push'], 'a:pull b:push'],
    ['several parameters', ['repository:a:pull', 'repository:b:push'], 'a:pull b:push'],
    ['one twice', ['repository:a:pull', 'repository:a:push,pull'], 'a:pull,push'],
    ['everything', ['repository:a:*'], 'a:pull,push,delete'],
    ['a class', ['repository(plugin):a:pull'], 'a:pull'],
    ['the catalogue', ['registry:catalog:*'], ''],
    ['nonsense', ['repository', 'a:b', ':::', 'repository::pull'], ''],
  ]
  for (const [title, texts, expected] of CASES) {
    it(title, () => {
      const told = parseScopes(texts).map(({ repository, actions }) => `${repository}:${actions.join(',')}`)
      expect(told.join(' ')).to.equal(expected)
    })
  }

  it('are within a boundary by whole parts of their name', () => {
    expect(isRepositoryWithin('abc/*', 'abc/d')).to.equal(true)
    expect(isRepositoryWithin('abc/*', 'abcd/e')).to.equal(false)
    expect(isRepositoryWithin('abc/d', 'abc/d/e')).to.equal(false)
  })
})
