import { expect } from 'chai'
import type { Provider } from './providers.ts'
import { isOfRepository, isSameRepository, originOf, repositoryNameOf } from './repositories.ts'

describe('addresses of repositories', () => {
  const same: [string, string, string, boolean][] = [
    ['with and without .git', 'https://git.test/a/b.git', 'https://git.test/a/b', true],
    ['whatever the case of the host', 'https://GIT.test/a/b', 'https://git.test/a/b/', true],
    ['not another host', 'https://git.test/a/b', 'https://git.test.evil.test/a/b', false],
    ['not another port', 'https://git.test/a/b', 'https://git.test:8443/a/b', false],
    ['not another path', 'https://git.test/a/b', 'https://git.test/a/bc', false],
    ['not another protocol', 'https://git.test/a/b', 'ssh://git.test/a/b', false],
    ['whoever signs in over ssh', 'ssh://git@git.test/a/b.git', 'ssh://git.test/a/b', true],
    ['not what is no address', 'a', 'a', false],
  ]
  for (const [title, one, other, expected] of same) {
    it(`are the same ${title}`, () => {
      expect(isSameRepository(one, other)).to.equal(expected)
    })
  }

  it('are told by the name that a provider gives, below its own address', () => {
    const gitHub = { provider: 'GitHub', baseUrl: 'https://github.com' } as const
    expect(isOfRepository(gitHub, { repositoryName: 'acme/shop' }, 'https://github.com/acme/shop.git')).to.equal(true)
    expect(isOfRepository(gitHub, { repositoryName: 'acme/shop' }, 'https://git.test/acme/shop')).to.equal(false)
    const git = { provider: 'Git', baseUrl: 'https://git.test/shop.git' } as const
    expect(isOfRepository(git, { repositoryName: 'anything' }, 'https://git.test/shop')).to.equal(true)
    expect(isOfRepository(git, { repositoryName: 'other' }, 'https://git.test/other')).to.equal(false)
  })

  const origins: [sentence: string, source: Provider | undefined, expected: object][] = [
    ['the name and provider of their source', 'GitHub', { provider: 'GitHub', source: 'Acme' }],
    ['plain Git of a source that is one repository', 'Git', { provider: 'Git', source: 'Acme' }],
    ['Gitea of the Git host that the platform runs', 'Circuit', { provider: 'Gitea', source: 'Acme' }],
    ['plain Git of a source that has no repositories', 'Registry', { provider: 'Git', source: 'Acme' }],
    ['plain Git and no name without a source', undefined, { provider: 'Git' }],
  ]
  for (const [sentence, provider, expected] of origins) {
    it(`are told with ${sentence}`, () => {
      const source = provider && { provider, displayName: 'Acme' }
      const origin = originOf('https://git.test/acme/shop.git', source)
      expect(origin).to.deep.equal({ repositoryName: 'acme/shop', ...expected })
    })
  }

  it('are shown by their path', () => {
    expect(repositoryNameOf('https://git.test/acme/shop.git')).to.equal('acme/shop')
    expect(repositoryNameOf('https://git.test/acme/my shop')).to.equal('acme/my%20shop')
    expect(repositoryNameOf('https://git.test')).to.equal(undefined)
    expect(repositoryNameOf(`https://git.test/${'a'.repeat(256)}`)).to.equal(undefined)
  })
})
