import { expect } from 'chai'
import { claimName } from './nameClaims.ts'
import {
  boundaryIdOf,
  boundaryNamespace,
  boundaryOfNamespace,
  childName,
  DOMAIN,
  GROUP_NAMESPACE_PATTERN,
  groupNamespace,
  groupOfNamespace,
  isResourceName,
  resourceNamePattern,
} from './names.ts'

const BOUNDARY = '3d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b01'
const OTHER = '4a7f8a52-7a4e-4b52-9a55-0d6c8f3f9b77'

describe('names of namespaces', () => {
  it('stay as they are stored', () => {
    expect(boundaryNamespace(BOUNDARY)).to.equal(`boundary-${BOUNDARY}`)
    for (let turn = 0; turn < 2; turn += 1) expect(groupNamespace(BOUNDARY, 'shop')).to.equal('shop-2635447f8f')
  })

  it('of a group lead back to it, are labels, and differ between boundaries', () => {
    for (const group of ['s', 'shop', 'a'.repeat(52)]) {
      const namespace = groupNamespace(BOUNDARY, group)
      expect(groupOfNamespace(namespace)).to.equal(group)
      expect(namespace).to.match(new RegExp(GROUP_NAMESPACE_PATTERN)).and.have.length.at.most(63)
      expect(groupNamespace(OTHER, group)).to.not.equal(namespace)
    }
    expect('shop-2635447f8').to.not.match(new RegExp(GROUP_NAMESPACE_PATTERN))
  })

  it('of a boundary lead back to it, and no others do', () => {
    expect(boundaryOfNamespace(`boundary-${BOUNDARY}`)).to.equal(BOUNDARY)
    expect(boundaryIdOf({ namespace: `boundary-${BOUNDARY}` })).to.equal(BOUNDARY)
    for (const namespace of ['boundary-shop', BOUNDARY, `other-boundary-${BOUNDARY}`, `boundary-${BOUNDARY}-x`, ''])
      expect([boundaryOfNamespace(namespace), boundaryIdOf({ namespace })], namespace).to.deep.equal([undefined, ''])
    expect(boundaryIdOf({})).to.equal('')
  })
})

describe('childName', () => {
  const names: [string, string][] = [
    ['orders', 'vc-orders'],
    ['n'.repeat(47), `vc-${'n'.repeat(47)}`],
    ['n'.repeat(48), `vc-${'n'.repeat(30)}-6e89d07db7c8c3d4`],
    [`${'a'.repeat(30)}-----${'b'.repeat(17)}`, `vc-${'a'.repeat(30)}-76d7fc798f389aad`],
    ['x-0123456789abcdef', 'vc-x-0123456789abcdef-671d3c1e111bd504'],
    ['x-0123456789abcde', 'vc-x-0123456789abcde'],
  ]
  for (const [name, expected] of names)
    it(`returns ${expected} for ${name}, as it is stored`, () => expect(childName('vc', name)).to.equal(expected))

  it('gives no name to a second resource that is called like the hashed name of the first', () => {
    const hashed = childName('vc', 'n'.repeat(52))
    expect(childName('vc', hashed.slice('vc-'.length))).to.not.equal(hashed)
  })

  it('adds a suffix', () => expect(childName('vc', 'orders', '0')).to.equal('vc-orders-0'))
})

describe('claimName', () => {
  it('stays as it is stored, and differs between types of names', () => {
    expect(claimName('Vault', 'keys')).to.equal('375a941d4b337aad2a3fd87103a41b7aa6108015c342751334ebb670ba53ee9')
    expect(claimName('Host', 'keys')).to.not.equal(claimName('Vault', 'keys'))
  })
})

describe('patterns of names', () => {
  it('accept labels of at most 52 characters', () => {
    for (const name of ['a', 'a-b', '0', 'a'.repeat(52)]) expect(isResourceName(name), name).to.equal(true)
    for (const name of ['', '-a', 'a-', 'A', 'a_b', 'a.b', 'a\n', 'a'.repeat(53)])
      expect(isResourceName(name), name).to.equal(false)
  })

  it('require more characters on demand', () => {
    const accepted = (minimum: number, ...lengths: number[]) =>
      lengths.map((length) => new RegExp(resourceNamePattern(minimum)).test('a'.repeat(length)))
    expect(accepted(1, 1, 52, 53)).to.deep.equal([true, true, false])
    expect(accepted(2, 1, 2, 52, 53)).to.deep.equal([false, true, true, false])
    expect(accepted(3, 2, 3, 52, 53)).to.deep.equal([false, true, true, false])
  })

  it('accept domains in lower case', () => {
    for (const domain of ['localhost', 'a.example.com', 'x-1.eu']) expect(domain).to.match(DOMAIN)
    for (const text of ['', '.eu', 'a..eu', 'A.eu', '-a.eu', 'a-.eu', 'a.eu.', 'a.eu/x', `${'a'.repeat(64)}.eu`])
      expect(text).to.not.match(DOMAIN)
  })
})
