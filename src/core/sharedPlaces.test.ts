import { expect } from 'chai'
import { SharedPlaces } from './sharedPlaces.ts'

describe('places that are shared', () => {
  const takeAll = (places: SharedPlaces, key: string) => {
    while (!places.isFullFor(key)) places.take(key)
    return places.takenBy(key)
  }

  it('are half of them for whoever comes first, and half of what is left for the next', () => {
    const places = new SharedPlaces(100)
    expect(['first', 'second', 'third'].map((key) => takeAll(places, key))).to.deep.equal([50, 25, 13])
    expect(places.left).to.equal(12)
  })

  it('are there again once they are given back', () => {
    const places = new SharedPlaces(4)
    takeAll(places, 'first')
    places.free('first')
    expect([places.takenBy('first'), places.left, places.isFullFor('first')]).to.deep.equal([1, 3, false])
    places.free('first')
    expect([places.takenBy('first'), places.left]).to.deep.equal([0, 4])
  })

  it('are none where there are none', () => {
    expect(new SharedPlaces(0).isFullFor('first')).to.equal(true)
  })
})
