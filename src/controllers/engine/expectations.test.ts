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

describe('Expectations', () => {
  it('expects nothing after a write that the cache already shows', () => {
    const expectations = new Expectations()
    expectations.written('k', cache(object('12'), 3).view, object('12'))
    expect(expectations.met('k')).to.equal(true)
  })

  it('expects the written version or a later one', () => {
    const expectations = new Expectations()
    const { view, state } = cache(object('11'), 11)
    expectations.written('k', view, object('12'))
    expect(expectations.met('k')).to.equal(false)
    state.held = object('13')
    expect(expectations.met('k')).to.equal(true)
  })

  it('are met when the stream has passed the write although the object was deleted since', () => {
    const expectations = new Expectations()
    const { view, state } = cache(undefined, 11)
    expectations.written('k', view, object('12'))
    expect(expectations.met('k')).to.equal(false)
    state.upTo = 20
    expect(expectations.met('k')).to.equal(true)
  })

  it('expect the absence of the deleted object, not of a new one with its name', () => {
    const expectations = new Expectations()
    const { view, state } = cache(object('11'), 11)
    expectations.removed('k', view, object('11'))
    expect(expectations.met('k')).to.equal(false)
    state.held = object('14', { uid: 'other' })
    expect(expectations.met('k')).to.equal(true)
  })

  it('apply to one key and end with forget', () => {
    const expectations = new Expectations()
    expectations.written('k', cache(undefined, 1).view, object('12'))
    expect(expectations.met('other')).to.equal(true)
    expectations.forget('k')
    expect(expectations.met('k')).to.equal(true)
  })
})
