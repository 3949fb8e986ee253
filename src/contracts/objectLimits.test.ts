import { expect } from 'chai'
import { objectCountMessage, objectSizeMessage, parseObjectCountMessage, parseObjectSizeLimit } from './objectLimits.ts'

describe('parseObjectCountMessage and parseObjectSizeLimit', () => {
  it('read back the messages of the policies', () => {
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

  it('return undefined for other messages', () => {
    expect(parseObjectCountMessage('an object has at most 64 labels')).to.equal(undefined)
    expect(parseObjectSizeLimit('an object has at most 64 labels')).to.equal(undefined)
  })
})
