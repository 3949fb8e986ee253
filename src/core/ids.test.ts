import { expect } from 'chai'
import { idOf, objectId, uuidV5 } from './ids.ts'

const TYPE = { group: 'vector.freehold.dev', kind: 'VectorCluster' }
const PLACE = { namespace: 'shop', name: 'search' }

describe('uuidV5', () => {
  it('derives the uuid of RFC 9562', () => {
    const dns = '6ba7b810-9dad-11d1-80b4-00c04fd430c8'
    expect(uuidV5('www.example.com', dns)).to.equal('2ed6657d-e927-568b-95e1-2665a8aea6a2')
  })
})

describe('objectId', () => {
  it('is that of the type, namespace and name', () => {
    expect(objectId(TYPE, PLACE)).to.equal(idOf({ ...TYPE, ...PLACE }))
    expect(objectId(TYPE, Object.freeze({ ...PLACE }))).to.equal(idOf({ ...TYPE, ...PLACE }))
  })

  it('derives the id of a cached object once', () => {
    let reads = 0
    const metadata = Object.freeze({
      namespace: 'shop',
      get name() {
        reads += 1
        return 'search'
      },
    })
    for (let time = 0; time < 100; time += 1) objectId(TYPE, metadata)
    expect(reads).to.equal(1)
  })

  it('derives the id of an object that may still change each time', () => {
    const metadata = { ...PLACE }
    const before = objectId(TYPE, metadata)
    metadata.name = 'other'
    expect(objectId(TYPE, metadata)).not.to.equal(before)
  })
})
