import { expect } from 'chai'
import { filterAllowedSecrets, secretsGivenTo } from './namespaceSecrets.ts'

const secret = (vaultName: string) => ({ secret: { vaultName, secretName: 'Key' } })
const output = (collection: 'apps' | 'relationalclusters', name: string, output: string) => ({
  output: { collection, name, output },
})

describe('secretsGivenTo and filterAllowedSecrets', () => {
  const cases: [sentence: string, Parameters<typeof secretsGivenTo>[0], string[]][] = [
    ['nothing for an empty specification', {}, []],
    ['the managed identity', { managedIdentity: true }, ['managedidentities']],
    ['each vault once', { env: [secret('a'), secret('b'), secret('a')] }, ['secretvaults/a', 'secretvaults/b']],
    [
      'the resource of a secret output',
      { env: [output('relationalclusters', 'db', 'password')] },
      ['relationalclusters/db'],
    ],
    [
      'nothing for outputs that are not secret',
      { env: [output('relationalclusters', 'db', 'host'), output('apps', 'web', 'publicUrl')] },
      [],
    ],
  ]
  for (const [sentence, around, expected] of cases)
    it(`return ${sentence}`, () => expect(secretsGivenTo(around)).to.deep.equal(expected))

  it('allow a named resource or all of its collection', () => {
    const given = ['managedidentities', 'secretvaults/a', 'secretvaults/b', 'relationalclusters/a']
    const within = (...allowed: string[]) => filterAllowedSecrets(given, allowed)
    expect(within()).to.deep.equal([])
    expect(within('secretvaults')).to.deep.equal(['secretvaults/a', 'secretvaults/b'])
    expect(within('secretvaults/a', 'managedidentities')).to.deep.equal(['managedidentities', 'secretvaults/a'])
    expect(filterAllowedSecrets(['secretvaults'], ['secretvaults/a'])).to.deep.equal([])
  })
})
