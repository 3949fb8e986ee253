import { expect } from 'chai'
import { isRepositoryWithin, parseScopes } from './scopes.ts'

describe('registry scopes', () => {
  const CASES: [string, string[], string][] = [
    ['parses one scope', ['repository:a/b:pull'], 'a/b:pull'],
    ['parses several scopes in one parameter', ['repository:a:pull repository:b:push'], 'a:pull b:push'],
    ['parses several parameters', ['repository:a:pull', 'repository:b:push'], 'a:pull b:push'],
    ['merges the actions of one repository', ['repository:a:pull', 'repository:a:push,pull'], 'a:pull,push'],
    ['expands the action *', ['repository:a:*'], 'a:pull,push,delete'],
    ['ignores the class of a repository', ['repository(plugin):a:pull'], 'a:pull'],
    ['ignores the catalogue', ['registry:catalog:*'], ''],
    ['ignores malformed scopes', ['repository', 'a:b', ':::', 'repository::pull'], ''],
  ]
  for (const [title, texts, expected] of CASES) {
    it(title, () => {
      const parsed = parseScopes(texts).map(({ repository, actions }) => `${repository}:${actions.join(',')}`)
      expect(parsed.join(' ')).to.equal(expected)
    })
  }

  it('compares repositories by whole path segments', () => {
    expect(isRepositoryWithin('abc/*', 'abc/d')).to.equal(true)
    expect(isRepositoryWithin('abc/*', 'abcd/e')).to.equal(false)
    expect(isRepositoryWithin('abc/d', 'abc/d/e')).to.equal(false)
  })
})
