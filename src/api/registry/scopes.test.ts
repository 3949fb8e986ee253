import { expect } from 'chai'
import { askedScopes, isWithin } from './scopes.ts'

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
      const told = askedScopes(texts).map(({ repository, actions }) => `${repository}:${actions.join(',')}`)
      expect(told.join(' ')).to.equal(expected)
    })
  }

  it('are within a boundary by whole parts of their name', () => {
    expect(isWithin('abc/*', 'abc/d')).to.equal(true)
    expect(isWithin('abc/*', 'abcd/e')).to.equal(false)
    expect(isWithin('abc/d', 'abc/d/e')).to.equal(false)
  })
})
