import { expect } from 'chai'
import type { KubeObject } from '../../core/object.ts'
import type { CacheView } from './controller.ts'
import { Expectations } from './expectations.ts'

const object = (resourceVersion: string, metadata: Partial<KubeObject['metadata']> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', namespace: 'n', uid: 'u', resourceVersion, ...metadata },
})

/** A cache that holds `held` and has read its stream up to `upTo`. */
function cache(held: KubeObject | undefined, upTo: number) {
  const state = { held, upTo }
  const view = { get: () => state.held, isAtLeast: (version: string) => state.upTo >= Number(version) }
  return { view: view as unknown as CacheView, state }
}

describe('what a key must see before its next pass', () => {
  it('is nothing where the caches hear of writes at once', () => {
    const expectations = new Expectations()
    expectations.written('k', cache(object('12'), 3).view, object('12'))
    expect(expectations.met('k')).to.equal(true)
  })

  it('is the version that the API server answered, or a later one', () => {
    const expectations = new Expectations()
    const { view, state } = cache(object('11'), 11)
    expectations.written('k', view, object('12'))
    expect(expectations.met('k')).to.equal(false)
    state.held = object('13')
    expect(expectations.met('k')).to.equal(true)
  })

  it('is met where the stream has passed the write, though somebody deleted the object since', () => {
    const expectations = new Expectations()
    const { view, state } = cache(undefined, 11)
    expectations.written('k', view, object('12'))
    expect(expectations.met('k')).to.equal(false)
    state.upTo = 20
    expect(expectations.met('k')).to.equal(true)
  })

  it('is the absence of what was deleted, not of a namesake made since', () => {
    const expectations = new Expectations()
    const { view, state } = cache(object('11'), 11)
    expectations.removed('k', view, object('11'))
    expect(expectations.met('k')).to.equal(false)
    state.held = object('14', { uid: 'other' })
    expect(expectations.met('k')).to.equal(true)
  })

  it('concerns one key only and ends with its object', () => {
    const expectations = new Expectations()
    expectations.written('k', cache(undefined, 1).view, object('12'))
    expect(expectations.met('other')).to.equal(true)
    expectations.forget('k')
    expect(expectations.met('k')).to.equal(true)
  })
})
