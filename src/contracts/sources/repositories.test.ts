import { expect } from 'chai'
import type { Provider } from './providers.ts'
import { isOfRepository, isSameRepository, originOf, repositoryNameOf } from './repositories.ts'

describe('isSameRepository, isOfRepository, originOf and repositoryNameOf', () => {
  const same: [string, string, string, boolean][] = [
    ['ignore .git', 'https://git.test/a/b.git', 'https://git.test/a/b', true],
    ['ignore the case of the host and a trailing slash', 'https://GIT.test/a/b', 'https://git.test/a/b/', true],
    ['distinguish hosts', 'https://git.test/a/b', 'https://git.test.evil.test/a/b', false],
    ['distinguish ports', 'https://git.test/a/b', 'https://git.test:8443/a/b', false],
    ['distinguish paths', 'https://git.test/a/b', 'https://git.test/a/bc', false],
    ['distinguish protocols', 'https://git.test/a/b', 'ssh://git.test/a/b', false],
    ['ignore the user of an SSH URL', 'ssh://git@git.test/a/b.git', 'ssh://git.test/a/b', true],
    ['reject a text that is not a URL', 'a', 'a', false],
  ]
  for (const [title, one, other, expected] of same) {
    it(`${title}`, () => {
      expect(isSameRepository(one, other)).to.equal(expected)
    })
  }

  it("match the provider's repository name only below the URL of the provider", () => {
    const gitHub = { provider: 'GitHub', baseUrl: 'https://github.com' } as const
    expect(isOfRepository(gitHub, { repositoryName: 'acme/shop' }, 'https://github.com/acme/shop.git')).to.equal(true)
    expect(isOfRepository(gitHub, { repositoryName: 'acme/shop' }, 'https://git.test/acme/shop')).to.equal(false)
    const git = { provider: 'Git', baseUrl: 'https://git.test/shop.git' } as const
    expect(isOfRepository(git, { repositoryName: 'anything' }, 'https://git.test/shop')).to.equal(true)
    expect(isOfRepository(git, { repositoryName: 'other' }, 'https://git.test/other')).to.equal(false)
  })

  const origins: [sentence: string, source: Provider | undefined, expected: object][] = [
    ['the name and provider of the source', 'GitHub', { provider: 'GitHub', source: 'Acme' }],
    ['Git for a source that is one repository', 'Git', { provider: 'Git', source: 'Acme' }],
    ["Gitea for the platform's own Git host", 'Circuit', { provider: 'Gitea', source: 'Acme' }],
    ['Git for a source without repositories', 'Registry', { provider: 'Git', source: 'Acme' }],
    ['Git and no name without a source', undefined, { provider: 'Git' }],
  ]
  for (const [sentence, provider, expected] of origins) {
    it(`return ${sentence}`, () => {
      const source = provider && { provider, displayName: 'Acme' }
      const origin = originOf('https://git.test/acme/shop.git', source)
      expect(origin).to.deep.equal({ repositoryName: 'acme/shop', ...expected })
    })
  }

  it('return the path of a repository as its name', () => {
    expect(repositoryNameOf('https://git.test/acme/shop.git')).to.equal('acme/shop')
    expect(repositoryNameOf('https://git.test/acme/my shop')).to.equal('acme/my%20shop')
    expect(repositoryNameOf('https://git.test')).to.equal(undefined)
    expect(repositoryNameOf(`https://git.test/${'a'.repeat(256)}`)).to.equal(undefined)
  })
})
