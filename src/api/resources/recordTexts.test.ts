import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type { CacheEvent, CacheHandler } from '../../kube/cache.ts'
import type { KubeObject } from '../../kube/object.ts'
import { followRemovals, RecordTexts } from './recordTexts.ts'

describe('RecordTexts', () => {
  it('keeps the text of a record until its object is removed', () => {
    const handlers: CacheHandler<KubeObject>[] = []
    const subscribe = (handler: CacheHandler<KubeObject>) => void handlers.push(handler)
    followRemovals({ get: () => ({ subscribe }) } as never)
    const texts = new RecordTexts(() => ({ name: 'orders' }), { kinds: [], versionOf: () => '' })
    const uid = randomUUID()
    const view = { object: { metadata: { uid, resourceVersion: '1' } }, contextVersion: '' }
    const emit = (type: CacheEvent<KubeObject>['type']) => {
      for (const handler of handlers) handler({ type, object: view.object, previous: view.object } as never)
    }
    const { kept } = texts.find(view as never)
    emit('modified')
    expect(kept?.text).to.equal('{"name":"orders"}')
    emit('removed')
    expect(kept?.text).to.equal(undefined)
  })
})
