import { expect } from 'chai'
import { entryName, isSecretName, keyContext, valueContext, valueNames, vaultOfEntry } from './names.ts'

describe('entryName, vaultOfEntry, valueNames and isSecretName', () => {
  it("ignore the case of a secret's name", () => {
    expect(entryName('shop', 'DbPassword')).to.equal(entryName('shop', 'dbpassword'))
    expect(entryName('shop', 'dbpassword')).to.match(/^shop-[0-9a-f]{20}$/)
    expect(entryName('shop', 'dbpassword')).not.to.equal(entryName('shop', 'dbpassword2'))
  })

  it("return the vault of an entry's name", () => {
    expect(vaultOfEntry(entryName('a-b', 'x'))).to.equal('a-b')
    const hash = 'a'.repeat(20)
    const others = ['shop', 'shop-1', `shop-${'A'.repeat(20)}`, `shop-${hash}-1`, `\n-${hash}`, `-${hash}`]
    expect(others.map(vaultOfEntry)).to.deep.equal(others.map(() => undefined))
  })

  it('build different, valid names for each life and version', () => {
    const entry = entryName('v'.repeat(52), 'x')
    const [one, two] = [valueNames(entry, 1), valueNames(entry, 2)]
    expect(one.owner.length).to.be.at.most(63)
    const all = [one.key, one.version(1), one.version(11), two.key, two.version(1)]
    expect(new Set(all).size).to.equal(all.length)
    expect(all.every((name) => name.startsWith('vent-') && name.length <= 80)).to.equal(true)
  })

  it('bind a value to its namespace, secret, life and version', () => {
    expect(keyContext('n', 'e', 1)).to.equal('n/e/1')
    expect(valueContext('n', 'e', 1, 2)).to.equal('n/e/1/2')
  })

  it('accept letters, digits and hyphens in secret names', () => {
    expect(['a', 'A-1', '9x', 'x'.repeat(127)].every(isSecretName)).to.equal(true)
    expect(['', '-a', 'a_b', 'a.b', 'ä', 'x'.repeat(128), 'a/b'].some(isSecretName)).to.equal(false)
  })
})
