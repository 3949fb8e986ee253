import { expect } from 'chai'
import { acceptsTwoKeys, decodeVectorKeys, encodeVectorKeys, vectorEndpoints, vectorNames } from './vector.ts'
import { claimName, defaultHost, isHostOf, ordinalOf } from './workloads.ts'

const key = (version: number) => ({
  version,
  id: `id${version}`,
  apiKey: `full-${version}`,
  readOnlyApiKey: `read-${version}`,
})

describe('names, keys and hosts of vector databases', () => {
  it('decodeVectorKeys restores the keys in every state of a rotation', () => {
    for (const keys of [
      { current: key(1), pending: undefined, retired: undefined, createdAt: 't0', rotatedAt: undefined },
      { current: key(1), pending: key(2), retired: undefined, createdAt: 't0', rotatedAt: undefined },
      { current: key(2), pending: undefined, retired: key(1), createdAt: 't0', rotatedAt: 't1' },
      { current: undefined, pending: key(2), retired: undefined, createdAt: 't0', rotatedAt: undefined },
    ]) {
      expect(decodeVectorKeys(encodeVectorKeys(keys))).to.deep.equal(keys)
    }
  })

  it('encodeVectorKeys exposes the current key, not the pending one', () => {
    const data = encodeVectorKeys({
      current: key(1),
      pending: key(2),
      retired: undefined,
      createdAt: 't0',
      rotatedAt: undefined,
    })
    expect(Buffer.from(data['api-key'] ?? '', 'base64').toString()).to.equal('full-1')
    expect(Buffer.from(data['read-only-api-key'] ?? '', 'base64').toString()).to.equal('read-1')
  })

  it('decodeVectorKeys ignores a key with a missing part', () => {
    const data = encodeVectorKeys({
      current: key(1),
      pending: key(2),
      retired: undefined,
      createdAt: 't0',
      rotatedAt: undefined,
    })
    const { 'read-only-api-key.v2': _, ...half } = data
    expect(decodeVectorKeys(half)?.pending).to.equal(undefined)
    const { 'api-key.v1': __, ...none } = half
    expect(decodeVectorKeys(none)).to.equal(undefined)
  })

  it("ordinalOf accepts only the workload's own pods and claims", () => {
    const { workload } = vectorNames('products')
    expect(ordinalOf(workload, claimName(workload, 12))).to.equal(12)
    expect(ordinalOf(workload, 'vc-products-0')).to.equal(0)
    for (const foreign of [
      'vc-products-x',
      'vc-products',
      'vc-products-2-0',
      'storage-vc-product-0',
      'vc-products-01',
    ]) {
      expect(ordinalOf(workload, foreign), foreign).to.equal(undefined)
    }
  })

  it('defaultHost is a valid and different host for equal names in two groups', () => {
    const one = defaultHost('vectorclusters', 'search-0123456789', 'products', 'cloud.example.org')
    expect(one).to.match(/^products-[0-9a-f]{8}\.cloud\.example\.org$/)
    expect(one).not.to.equal(defaultHost('vectorclusters', 'search-9876543210', 'products', 'cloud.example.org'))
    expect(defaultHost('vectorclusters', 'n', 'a'.repeat(52), 'x.org').split('.')[0]?.length).to.be.at.most(63)
  })

  it('isHostOf accepts only hosts with the suffix of the boundary', () => {
    const boundary = '5d0f8a52-3c1e-4b7a-9f60-2e8c41d7b391'
    const isOwn = (host: string) => isHostOf(boundary, host, 'cloud.example.org')
    for (const host of ['shop-5d0f8a52.cloud.example.org', 'a.b-5d0f8a52.cloud.example.org'])
      expect(isOwn(host), host).to.equal(true)
    const others = ['login', 'shop-1fd742ef', '-5d0f8a52', '5d0f8a52', 'shop-5d0f8a52.x'].map(
      (label) => `${label}.cloud.example.org`,
    )
    for (const host of [...others, 'cloud.example.org', 'shop-5d0f8a52.evilcloud.example.org', 'shop-5d0f8a52.x.net'])
      expect(isOwn(host), host).to.equal(false)
  })

  it('vectorNames never collide between databases of a group', () => {
    const services = ['a', 'a-peers', 'peers-a', 'a-public', 'public-a', 'a-0', 'a-apikey'].flatMap((name) => {
      const { workload, peers, publicService } = vectorNames(name)
      return [workload, peers, publicService]
    })
    expect(new Set(services).size).to.equal(services.length)
  })

  it('vectorNames respect the length limits of each kind', () => {
    const names = vectorNames('a'.repeat(52))
    expect(names.workload.length).to.be.at.most(52)
    for (const name of Object.values(names)) expect(name.length).to.be.at.most(63)
    expect(vectorEndpoints('ns', 'products')).to.deep.equal({
      host: 'vc-products.ns.svc',
      rest: 'http://vc-products.ns.svc:6333',
      grpc: 'http://vc-products.ns.svc:6334',
    })
  })

  it('acceptsTwoKeys is true from version 1.17', () => {
    expect(['1.16.3', '1.17.0', '1.20.1', 'latest'].map(acceptsTwoKeys)).to.deep.equal([false, true, true, false])
  })
})
