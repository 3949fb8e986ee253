import { expect } from 'chai'
import { SharedSlots } from './sharedSlots.ts'

describe('SharedSlots', () => {
  const takeAll = (places: SharedSlots, key: string) => {
    while (!places.isFullFor(key)) places.take(key)
    return places.takenBy(key)
  }

  it('gives the first key half of the places and each other half of the rest', () => {
    const places = new SharedSlots(100)
    expect(['first', 'second', 'third'].map((key) => takeAll(places, key))).to.deep.equal([50, 25, 13])
    expect(places.left).to.equal(12)
  })

  it('reuses freed places', () => {
    const places = new SharedSlots(4)
    takeAll(places, 'first')
    places.free('first')
    expect([places.takenBy('first'), places.left, places.isFullFor('first')]).to.deep.equal([1, 3, false])
    places.free('first')
    expect([places.takenBy('first'), places.left]).to.deep.equal([0, 4])
  })

  it('takes and frees several places at once', () => {
    const places = new SharedSlots(10)
    places.take('first', 7)
    places.take('first', -5)
    places.take('second', 5)
    expect([places.takenBy('first'), places.takenBy('second'), places.left]).to.deep.equal([2, 5, 3])
    expect(['first', 'second'].map((key) => places.isFullFor(key))).to.deep.equal([false, true])
    places.take('first', -2)
    expect([places.takenBy('first'), places.left]).to.deep.equal([0, 5])
  })

  it('is full without places', () => {
    expect(new SharedSlots(0).isFullFor('first')).to.equal(true)
  })
})
