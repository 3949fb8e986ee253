import { expect } from 'chai'
import { entryName, isSecretName, valueNames, vaultOfEntry } from './names.ts'

describe('names of vaults', () => {
  it('are one object for all spellings of a secret', () => {
    expect(entryName('shop', 'DbPassword')).to.equal(entryName('shop', 'dbpassword'))
    expect(entryName('shop', 'dbpassword')).to.match(/^shop-[0-9a-f]{20}$/)
    expect(entryName('shop', 'dbpassword')).not.to.equal(entryName('shop', 'dbpassword2'))
  })

  it('lead back to the vault', () => {
    expect(vaultOfEntry(entryName('a-b', 'x'))).to.equal('a-b')
    expect(['shop', 'shop-1', `shop-${'A'.repeat(20)}`].map(vaultOfEntry)).to.deep.equal([
      undefined,
      undefined,
      undefined,
    ])
  })

  it('of Secrets are labels, and differ for each life and version', () => {
    const entry = entryName('v'.repeat(52), 'x')
    const [one, two] = [valueNames(entry, 1), valueNames(entry, 2)]
    expect(one.owner.length).to.be.at.most(63)
    const all = [one.key, one.version(1), one.version(11), two.key, two.version(1)]
    expect(new Set(all).size).to.equal(all.length)
    expect(all.every((name) => name.startsWith('vent-') && name.length <= 80)).to.equal(true)
  })

  it('of secrets take letters of both cases, digits and hyphens', () => {
    expect(['a', 'A-1', '9x', 'x'.repeat(127)].every(isSecretName)).to.equal(true)
    expect(['', '-a', 'a_b', 'a.b', 'ä', 'x'.repeat(128), 'a/b'].some(isSecretName)).to.equal(false)
  })
})
