import { expect } from 'chai'
import { bytesOfMost, heldOfMost, readBytesMost, readHeld } from './room.ts'

describe('refusals for want of room', () => {
  it('are read as they are written', () => {
    expect(readHeld(`the groups ${heldOfMost('5003', '5000').join('')}; delete some`)).to.deep.equal({
      used: 5003,
      limit: 5000,
    })
    expect(readBytesMost(`it ${bytesOfMost('140000', '131072').join('')}; annotations count`)).to.equal(131_072)
  })

  it('are not taken from other sentences', () => {
    expect(readHeld('an object has at most 64 labels')).to.equal(undefined)
    expect(readBytesMost('an object has at most 64 labels')).to.equal(undefined)
  })
})
