import { EventEmitter } from 'node:events'
import type { Duplex } from 'node:stream'
import { expect } from 'chai'
import { limitClusterConnections, type ReachCopy } from './copyConnection.ts'

const copy = (clusterId: string) => ({ clusterId, pod: 'one', namespace: 'shop', name: 'home.hello' }) as never

describe('limitClusterConnections', () => {
  it('keeps an entry only for clusters with open connections', async () => {
    const opened: EventEmitter[] = []
    const reach: ReachCopy = async () => {
      const made = new EventEmitter()
      opened.push(made)
      return made as unknown as Duplex
    }
    const clusters = new Map()
    const open = limitClusterConnections(reach, () => 'tenant', 10, clusters)
    for (const one of ['a', 'a', 'b']) await open(copy(one))
    expect([...clusters.keys()]).to.deep.equal(['a', 'b'])
    for (const made of opened.slice(1)) made.emit('close')
    expect([...clusters.keys()]).to.deep.equal(['a'])
    opened[0]?.emit('close')
    expect([...clusters.keys()]).to.deep.equal([])
    const refused = limitClusterConnections(
      () => Promise.reject(new Error('away')),
      () => 'tenant',
      10,
      clusters,
    )
    await refused(copy('c')).catch(() => undefined)
    expect([...clusters.keys()]).to.deep.equal([])
  })
})
