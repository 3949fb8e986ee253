import { expect } from 'chai'
import { objectCountMessage, objectSizeMessage, parseObjectCountMessage, parseObjectSizeLimit } from './objectLimits.ts'

describe('refusals for want of room', () => {
  it('are read as they are written', () => {
    expect(
      parseObjectCountMessage(`the groups ${objectCountMessage('5003', '5000').join('')}; delete some`),
    ).to.deep.equal({
      used: 5003,
      limit: 5000,
    })
    expect(parseObjectSizeLimit(`it ${objectSizeMessage('140000', '131072').join('')}; annotations count`)).to.equal(
      131_072,
    )
  })

  it('are not taken from other sentences', () => {
    expect(parseObjectCountMessage('an object has at most 64 labels')).to.equal(undefined)
    expect(parseObjectSizeLimit('an object has at most 64 labels')).to.equal(undefined)
  })
})
