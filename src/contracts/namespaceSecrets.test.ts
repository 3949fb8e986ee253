import { expect } from 'chai'
import { filterAllowedSecrets, secretsGivenTo } from './namespaceSecrets.ts'

const secret = (vaultName: string) => ({ secret: { vaultName, secretName: 'Key' } })
const output = (collection: 'apps' | 'relationalclusters', name: string, output: string) => ({
  output: { collection, name, output },
})

describe('what a function namespace has that is secret', () => {
  const cases: [sentence: string, Parameters<typeof secretsGivenTo>[0], string[]][] = [
    ['nothing, where it says nothing', {}, []],
    ['its identity', { managedIdentity: true }, ['managedidentities']],
    ['each vault once', { env: [secret('a'), secret('b'), secret('a')] }, ['secretvaults/a', 'secretvaults/b']],
    ['a secret output', { env: [output('relationalclusters', 'db', 'password')] }, ['relationalclusters/db']],
    ['no address', { env: [output('relationalclusters', 'db', 'host'), output('apps', 'web', 'publicUrl')] }, []],
  ]
  for (const [sentence, around, expected] of cases)
    it(`is ${sentence}`, () => expect(secretsGivenTo(around)).to.deep.equal(expected))

  it('may be given where it is named, or all of its collection', () => {
    const given = ['managedidentities', 'secretvaults/a', 'secretvaults/b', 'relationalclusters/a']
    const within = (...allowed: string[]) => filterAllowedSecrets(given, allowed)
    expect(within()).to.deep.equal([])
    expect(within('secretvaults')).to.deep.equal(['secretvaults/a', 'secretvaults/b'])
    expect(within('secretvaults/a', 'managedidentities')).to.deep.equal(['managedidentities', 'secretvaults/a'])
    expect(filterAllowedSecrets(['secretvaults'], ['secretvaults/a'])).to.deep.equal([])
  })
})
