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

  it('are taken and given back many at a time too', () => {
    const places = new SharedPlaces(10)
    places.take('first', 7)
    places.take('first', -5)
    places.take('second', 5)
    expect([places.takenBy('first'), places.takenBy('second'), places.left]).to.deep.equal([2, 5, 3])
    expect(['first', 'second'].map((key) => places.isFullFor(key))).to.deep.equal([false, true])
    places.take('first', -2)
    expect([places.takenBy('first'), places.left]).to.deep.equal([0, 5])
  })

  it('are none where there are none', () => {
    expect(new SharedPlaces(0).isFullFor('first')).to.equal(true)
  })
})
