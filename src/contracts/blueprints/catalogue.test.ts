import { expect } from 'chai'
import { type CataloguePlace, type CatalogueState, isSamePlace, providerOf, stateOf } from './catalogue.ts'

const URL_OF = 'https://git.example.com/acme/blueprints'
const place = { repositoryUrl: URL_OF, ref: 'main', path: '/' }
const installed = { installationId: '1', repositoryId: '2', ref: 'main', path: '/' }

describe('two sources of blueprints', () => {
  const cases: [string, CataloguePlace, CataloguePlace, boolean][] = [
    ['with the same repository, ref and folder read the same', place, place, true],
    ['read the same however the address is written', place, { ...place, repositoryUrl: `${URL_OF}.git/` }, true],
    ['read the same however the folder is written', { ...place, path: 'a/b/' }, { ...place, path: '/a//b' }, true],
    ['of other repositories do not', place, { ...place, repositoryUrl: `${URL_OF}2` }, false],
    ['of other refs do not', place, { ...place, ref: 'next' }, false],
    ['of other folders do not', place, { ...place, path: '/a' }, false],
    ['of one repository of an installation read the same', installed, installed, true],
    ['of two repositories of it do not', installed, { ...installed, repositoryId: '3' }, false],
    ['of two installations do not', installed, { ...installed, installationId: '2' }, false],
    ['of an address and of an installation do not', place, installed, false],
  ]
  for (const [title, one, other, expected] of cases) {
    it(title, () => {
      expect([isSamePlace(one, other), isSamePlace(other, one)]).to.deep.equal([expected, expected])
    })
  }
})

describe('a source of blueprints', () => {
  const [early, late] = ['2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z']
  const asked = (syncAt?: string) => ({ enabled: true, requests: { syncAt } })
  const cases: [string, Parameters<typeof stateOf>, CatalogueState][] = [
    ['that is new is Pending', [asked()], 'Pending'],
    ['that was read is Ready', [asked(), { state: 'Ready' }], 'Ready'],
    ['that was asked to be read is Syncing', [asked(late), { state: 'Ready', syncedAt: early }], 'Syncing'],
    ['that was asked before it was ever read is Syncing', [asked(early)], 'Syncing'],
    ['whose request was heard is Ready', [asked(late), { state: 'Ready', syncedAt: late }], 'Ready'],
    ['whose request was heard in vain is Failing', [asked(late), { state: 'Failing', syncedAt: late }], 'Failing'],
    [
      'that is switched off is Disabled, whatever is asked',
      [{ enabled: false, requests: { syncAt: late } }],
      'Disabled',
    ],
    ['that is switched on again is Pending', [asked(), { state: 'Disabled' }], 'Pending'],
  ]
  for (const [title, given, expected] of cases) {
    it(title, () => {
      expect(stateOf(...given)).to.equal(expected)
    })
  }

  const providers: [string | undefined, string][] = [
    ['https://github.com/acme/x', 'GitHub'],
    ['https://GitLab.com/acme/x.git', 'GitLab'],
    ['https://codeberg.org/acme/x', 'Gitea'],
    ['https://bitbucket.org/acme/x', 'Bitbucket'],
    ['https://github.com.example.com/acme/x', 'Git'],
    [undefined, 'Git'],
  ]
  for (const [url, expected] of providers) {
    it(`at ${url ?? 'no address'} is of ${expected}`, () => {
      expect(providerOf(url)).to.equal(expected)
    })
  }
})
