import { EventEmitter, once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect } from 'chai'
import { until } from '../../../test/make/until.ts'
import { bearer } from '../../../test/worlds/facadeServer.ts'
import { BOUNDARY, OWNER, startShop } from '../../../test/worlds/shop.ts'
import { fakeBlobs } from '../../adapters/blobs/fake.ts'
import type { SqlEngine } from '../../adapters/sql/port.ts'
import { inlineWorkers } from '../../adapters/workers/inline.ts'
import { groupNamespace } from '../../core/names.ts'
import { secretData } from '../../core/secretData.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import { UnreadAnswers } from './unreadAnswers.ts'

class Response extends EventEmitter {
  readonly name: string
  closed = false
  constructor(name: string) {
    super()
    this.name = name
  }

  destroy() {
    this.closed = true
    this.emit('close')
  }
}

describe('UnreadAnswers', () => {
  const MIB = 1_048_576
  const cases: [title: string, added: [key: string, mib: number, place?: string][], cut: string[]][] = [
    [
      'keeps answers within the limits',
      [
        ['a', 30],
        ['a', 30],
        ['b', 60],
      ],
      [],
    ],
    [
      'closes the oldest answer of a caller above its limit',
      [
        ['a', 30],
        ['b', 1],
        ['a', 30],
        ['a', 30],
      ],
      ['0'],
    ],
    [
      'closes the oldest answer above the limit of all callers',
      [
        ['a', 60],
        ['b', 60],
        ['c', 60],
        ['d', 60],
      ],
      ['0'],
    ],
    [
      'closes answers of the tenant with the most unread bytes, not of others',
      [
        ['a', 60, 'calm'],
        ['b', 60, 'greedy'],
        ['c', 60, 'greedy'],
        ['d', 60, 'greedy'],
        ['e', 60, 'greedy'],
      ],
      ['1', '2'],
    ],
    ['keeps a single answer of any size', [['a', 300]], []],
    [
      'closes all others for an answer of 300 MiB',
      [
        ['a', 60],
        ['b', 60],
        ['c', 300],
      ],
      ['0', '1'],
    ],
  ]
  for (const [title, added, cut] of cases) {
    it(title, () => {
      const unread = new UnreadAnswers()
      const responses = added.map(([key, mib, scope = key], index) => {
        const response = new Response(String(index))
        unread.add({ key, scope }, mib * MIB, response)
        return response
      })
      expect(responses.filter(({ closed }) => closed).map(({ name }) => name)).to.deep.equal(cut)
    })
  }

  it('stops counting an answer once it was read', () => {
    const unread = new UnreadAnswers()
    const read = new Response('read')
    unread.add({ key: 'a', scope: 'a' }, 60 * MIB, read)
    read.emit('close')
    unread.add({ key: 'a', scope: 'a' }, 60 * MIB, new Response('next'))
    expect(read.closed).to.equal(false)
  })

  it('adds one close listener per answer, however many parts it has', () => {
    const unread = new UnreadAnswers()
    const streamed = new Response('streamed')
    for (let piece = 0; piece < 20; piece += 1) unread.add({ key: 'a', scope: 'a' }, MIB, streamed)
    expect(streamed.listenerCount('close')).to.equal(1)
  })

  it('closes the first of three unread answers of the database editor', async () => {
    const rows = Array.from({ length: 10_000 }, () => ['x'.repeat(3_000)])
    const result = { statementIndex: 0, columns: [], rows, rowsAffected: null, truncated: false }
    const engine: Partial<SqlEngine> = {
      run: async () => ({ results: [result], messages: [], failure: undefined }),
      close: async () => {},
    }
    const login = secretData({ username: 'app', password: 'secret', 'ca.crt': 'authority' })
    const relational = {
      ...{ engine: engine as SqlEngine, blobs: fakeBlobs(), allowOwnImages: false, hasBackupTarget: false },
      secrets: { read: async () => login },
    }
    const shop = await startShop({}, { relational, workers: inlineWorkers })
    shop.put(RelationalCluster, 'orders', {}, groupNamespace(BOUNDARY, 'shop'))
    const { port } = await shop.facade.listen(0, '127.0.0.1')
    const path = `/boundaries/${BOUNDARY}/resourcegroups/shop/resources/relationalclusters/orders/editor/query`
    const body = JSON.stringify({ sql: 'select 1', execute: true, maxRows: 10_000 })
    const headers = `host: x\r\nauthorization: ${bearer(OWNER)}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`
    const sockets: Socket[] = []
    try {
      for (let index = 0; index < 3; index += 1) {
        const socket = connect(port, '127.0.0.1').on('error', () => undefined)
        sockets.push(socket)
        socket.write(`POST ${path} HTTP/1.1\r\n${headers}\r\n\r\n${body}`)
        const [beginning] = await once(socket, 'data')
        socket.pause()
        expect(String(beginning)).to.match(/^HTTP\/1.1 200/)
      }
      sockets[0]?.resume()
      await until('the first one is closed', () => sockets[0]?.closed === true)
      expect(sockets.slice(1).map(({ closed }) => closed)).to.deep.equal([false, false])
    } finally {
      for (const socket of sockets) socket.destroy()
      await shop.stop()
    }
  })
})
