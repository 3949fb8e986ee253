import { expect } from 'chai'
import { acceptsTwoKeys, decodeVectorKeys, encodeVectorKeys, vectorEndpoints, vectorNames } from './vector.ts'
import { claimName, defaultHost, isHostOf, ordinalOf } from './workloads.ts'

const key = (version: number) => ({
  version,
  id: `id${version}`,
  apiKey: `full-${version}`,
  readOnlyApiKey: `read-${version}`,
})

describe('what the facade and the controller of vector databases share', () => {
  it('reads back the keys that it wrote, in every state of a rotation', () => {
    for (const keys of [
      { current: key(1), pending: undefined, retired: undefined, createdAt: 't0', rotatedAt: undefined },
      { current: key(1), pending: key(2), retired: undefined, createdAt: 't0', rotatedAt: undefined },
      { current: key(2), pending: undefined, retired: key(1), createdAt: 't0', rotatedAt: 't1' },
      { current: undefined, pending: key(2), retired: undefined, createdAt: 't0', rotatedAt: undefined },
    ]) {
      expect(decodeVectorKeys(encodeVectorKeys(keys))).to.deep.equal(keys)
    }
  })

  it('shows under the plain names the key that works, never the pending one', () => {
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

  it('takes a generation with a missing part for absent', () => {
    const data = encodeVectorKeys({
      current: key(1),
      pending: key(2),
      retired: undefined,
      createdAt: 't0',
      rotatedAt: undefined,
    })
    delete data['read-only-api-key.v2']
    expect(decodeVectorKeys(data)?.pending).to.equal(undefined)
    delete data['api-key.v1']
    expect(decodeVectorKeys(data)).to.equal(undefined)
  })

  it('knows its own pods and claims by ordinal and nobody else’s', () => {
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

  it('gives equal names of two groups two hosts, each a valid label', () => {
    const one = defaultHost('vectorclusters', 'search-0123456789', 'products', 'cloud.example.org')
    expect(one).to.match(/^products-[0-9a-f]{8}\.cloud\.example\.org$/)
    expect(one).not.to.equal(defaultHost('vectorclusters', 'search-9876543210', 'products', 'cloud.example.org'))
    expect(defaultHost('vectorclusters', 'n', 'a'.repeat(52), 'x.org').split('.')[0]?.length).to.be.at.most(63)
  })

  it('lets people choose only hosts that end as those of their boundary do', () => {
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

  it('gives no two databases of a group children of one name, whatever the databases are called', () => {
    const services = ['a', 'a-peers', 'peers-a', 'a-public', 'public-a', 'a-0', 'a-apikey'].flatMap((name) => {
      const { workload, peers, publicService } = vectorNames(name)
      return [workload, peers, publicService]
    })
    expect(new Set(services).size).to.equal(services.length)
  })

  it('names every child within the limits of its kind', () => {
    const names = vectorNames('a'.repeat(52))
    expect(names.workload.length).to.be.at.most(52)
    for (const name of Object.values(names)) expect(name.length).to.be.at.most(63)
    expect(vectorEndpoints('ns', 'products')).to.deep.equal({
      host: 'vc-products.ns.svc',
      rest: 'http://vc-products.ns.svc:6333',
      grpc: 'http://vc-products.ns.svc:6334',
    })
  })

  it('rotates with two accepted keys from 1.17 on', () => {
    expect(['1.16.3', '1.17.0', '1.20.1', 'latest'].map(acceptsTwoKeys)).to.deep.equal([false, true, true, false])
  })
})
