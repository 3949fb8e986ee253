import { expect } from 'chai'
import { until } from '../../test/suites/kubeContract.ts'
import { type ConfigMap, type WatchedCache, watchedCache } from '../../test/worlds/watchedCache.ts'
import {
  added,
  bookmark,
  deleted,
  listing,
  modified,
  type PlayedRequest,
  quiet,
  refuse,
  sent,
} from '../../test/worlds/watchServer.ts'
import { type Log, silentLog } from '../core/log.ts'
import type { KubeObject } from '../core/object.ts'

describe('WatchCache', () => {
  let world: WatchedCache
  let server: WatchedCache['server']
  let cache: WatchedCache['cache']
  let seen: string[]

  async function play(...scripts: ((request: PlayedRequest) => void)[]): Promise<void> {
    await begin({}, ...scripts)
    await cache.whenSynced()
  }

  async function begin(...given: Parameters<typeof watchedCache>): Promise<void> {
    world = await watchedCache(...given)
    ;({ server, cache, seen } = world)
  }

  afterEach(() => world.stop())

  const names = () => cache.list().map((object) => object.metadata.name)
  const last = () => server.requests.at(-1) as PlayedRequest

  it('lists and watches on one stream with sendInitialEvents', async () => {
    await play(listing(10, sent('x', 5), sent('y', 6)))
    expect(last().query.get('sendInitialEvents')).to.equal('true')
    expect(Number(last().query.get('timeoutSeconds'))).to.be.at.least(300)
    last().send(added(sent('z', 11)), modified(sent('x', 12, { n: '2' })), deleted(sent('y', 13)))
    await until(() => cache.resourceVersion === '13')
    expect(names()).to.have.members(['x', 'z'])
    expect(cache.byIndex('n', '2')).to.have.length(1)
    expect(cache.byUid('uid-of-z')?.metadata.name).to.equal('z')
    expect(cache.list({ namespace: 'a' })).to.have.length(2)
    expect(seen).to.deep.equal(['added x', 'added y', 'added z', 'modified x', 'removed y'])
    expect(server.requests).to.have.length(1)
  })

  it('is not synced before the initial list is complete', async () => {
    await begin({}, (request) => request.send(added(sent('x', 5))))
    await until(() => cache.get('a', 'x') !== undefined)
    expect(cache.synced).to.equal(false)
  })

  it('returns frozen objects without managedFields and last-applied-configuration', async () => {
    const object = sent('x', 5)
    const noisy = {
      ...object.metadata,
      managedFields: [{}],
      annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{}' },
    }
    await play(listing(10, { ...object, metadata: noisy }))
    const held = cache.get('a', 'x')
    expect(held).to.deep.equal(object)
    expect(() => Object.assign(held?.data ?? {}, { n: 'changed' })).to.throw(TypeError)
  })

  describe('resumes from its last resourceVersion after a stream that', () => {
    const cases: [string, (request: PlayedRequest) => void][] = [
      ['ended', (request) => request.end()],
      ['was reset', (request) => request.reset()],
      ['was cut inside a line', ({ response }) => response.end('{"type":"ADDED","obj')],
      ['sent a line that is not JSON', ({ response }) => response.write('no json\n')],
      ['sent a line that is not an event', (request) => request.send({ type: 'ADDED', object: null })],
      [
        'sent an ERROR event with code 500',
        (request) => request.send({ type: 'ERROR', object: { kind: 'Status', code: 500 } }),
      ],
    ]
    for (const [name, breaks] of cases) {
      it(name, async () => {
        await play(listing(10, sent('x', 5)), (request) => request.send(added(sent('y', 12))))
        server.requests[0]?.send(bookmark(11))
        await until(() => cache.resourceVersion === '11')
        breaks(last())
        await until(() => cache.get('a', 'y') !== undefined)
        expect(server.requests[1]?.query.get('resourceVersion')).to.equal('11')
        expect(server.requests[1]?.query.get('sendInitialEvents')).to.equal(null)
        expect(cache.metrics().listings).to.equal(1)
      })
    }
  })

  for (const status of [401, 403, 404, 429, 500, 503]) {
    it(`resumes without a new list after watches refused with ${status}`, async () => {
      const refusal = refuse(status)
      await play(listing(10, sent('x', 5)), refusal, refusal, (request) => request.send(added(sent('y', 12))))
      last().end()
      await until(() => cache.get('a', 'y') !== undefined)
      expect(cache.metrics()).to.include({ listings: 1, live: true })
      expect(cache.get('a', 'x')).to.not.equal(undefined)
    })
  }

  it('waits for retry-after before the next watch', async () => {
    await play(listing(10), refuse(429, { 'retry-after': '1' }), quiet)
    const before = performance.now()
    last().end()
    await until(() => server.requests.length === 3)
    expect(performance.now() - before).to.be.at.least(990)
  })

  it('replaces a stream that sends nothing for the stall timeout after its first event', async () => {
    // Only the stall timeout is short: a slow machine may open a stream late.
    await begin({ timings: { stall: 60, open: 10_000 } }, listing(10, sent('x', 5)), (request) =>
      request.send(added(sent('y', 12))),
    )
    await cache.whenSynced()
    await new Promise((resolve) => setTimeout(resolve, 150))
    expect(server.requests).to.have.length(1)
    last().send(bookmark(11))
    await until(() => cache.get('a', 'y') !== undefined)
    expect(server.requests[1]?.query.get('resourceVersion')).to.equal('11')
  })

  it('keeps its objects and retries while the server reports ResourceVersionTooLarge', async () => {
    const ahead = ({ response }: PlayedRequest) => {
      const causes = [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }]
      response.writeHead(504).end(JSON.stringify({ kind: 'Status', code: 504, details: { causes } }))
    }
    await play(listing(10, sent('x', 5)), ahead, ahead, (request) => request.send(added(sent('y', 12))))
    last().end()
    await until(() => cache.get('a', 'y') !== undefined)
    expect(server.requests.slice(1).map(({ query }) => query.get('resourceVersion'))).to.deep.equal(['10', '10', '10'])
    expect(seen).to.deep.equal(['added x', 'added y'])
  })

  describe("lists again after the API server's history went back", () => {
    const restored = listing(4, sent('z', 3), sent('x', 2, { n: 'restored' }))
    async function expectRestored(): Promise<void> {
      await until(() => cache.resourceVersion === '4')
      expect(names()).to.have.members(['x', 'z'])
      expect(cache.get('a', 'x')?.data?.n).to.equal('restored')
      expect(last().query.get('resourceVersion') ?? '').to.equal('')
    }

    it('if the server accepts the lost version and sends nothing', async () => {
      await play(listing(10, sent('x', 5), sent('y', 6)), quiet, restored)
      server.newest = '4'
      last().reset()
      await expectRestored()
    })

    it('if the server refuses the lost version', async () => {
      await play(listing(10, sent('x', 5), sent('y', 6)), refuse(410), refuse(504), restored)
      server.newest = '4'
      last().end()
      await expectRestored()
    })

    it("if the server's list is older", async () => {
      await play(listing(10, sent('x', 5), sent('y', 6)), refuse(410), restored, restored)
      server.newest = '4'
      last().end()
      await expectRestored()
    })

    for (const [what, event] of [
      ['a bookmark', bookmark(4)],
      ['an event', modified(sent('x', 4))],
    ] as const) {
      it(`if ${what} has an older version`, async () => {
        await play(listing(10, sent('x', 5), sent('y', 6)), restored)
        server.newest = '4'
        last().send(event)
        await expectRestored()
      })
    }

    for (const newest of ['10', '11']) {
      it(`but not if the server's newest version is ${newest} and the known one is 10`, async () => {
        await play(listing(10, sent('x', 5)), quiet)
        server.newest = newest
        last().reset()
        await until(() => server.comparisons === 1 && server.requests.length === 2)
        expect(names()).to.deep.equal(['x'])
        expect(last().query.get('resourceVersion')).to.equal('10')
      })
    }
  })

  it('gives up on a connection without an answer', async () => {
    await begin({ timings: { open: 60 } }, () => {}, listing(10, sent('x', 5)))
    await cache.whenSynced()
    expect(names()).to.deep.equal(['x'])
  })

  it('reads a line that arrives in pieces, split inside a character', async () => {
    await play(listing(10))
    const bytes = Buffer.from(`${JSON.stringify(added(sent('x', 11, { n: 'zürich' })))}\n`)
    const middle = bytes.indexOf(0xc3) + 1
    last().response.write(bytes.subarray(0, middle))
    await new Promise((resolve) => setImmediate(resolve))
    last().response.write(bytes.subarray(middle))
    await until(() => cache.get('a', 'x')?.data?.n === 'zürich')
  })

  describe('lists again once if its resourceVersion has expired, and finds deletions', () => {
    const expired = { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } }
    const cases: [string, (request: PlayedRequest) => void][] = [
      ['as an ERROR event', (request) => request.send(expired)],
      ['as status 410', refuse(410)],
    ]
    for (const [name, answer] of cases) {
      it(`${name}`, async () => {
        await play(listing(10, sent('x', 5), sent('y', 6)), answer, listing(30, sent('y', 20), sent('z', 21)))
        last().end()
        await until(() => cache.resourceVersion === '30')
        expect(names()).to.have.members(['y', 'z'])
        expect(seen.slice(2)).to.deep.equal(['modified y', 'added z', 'removed x'])
        expect(cache.metrics().listings).to.equal(2)
      })
    }
  })

  it('removes nothing for a list that is cut off', async () => {
    const half = (request: PlayedRequest) => {
      request.send(added(sent('x', 5)))
      request.reset()
    }
    await play(
      listing(10, sent('x', 5), sent('y', 6)),
      refuse(410),
      half,
      half,
      listing(30, sent('x', 5), sent('y', 6)),
    )
    last().end()
    await until(() => cache.resourceVersion === '30')
    expect(names()).to.have.members(['x', 'y'])
    expect(seen).to.deep.equal(['added x', 'added y'])
  })

  it('lists pages and then watches if the server has no streaming lists', async () => {
    const page =
      (items: KubeObject[], next: string) =>
      ({ response }: PlayedRequest) => {
        response.end(JSON.stringify({ metadata: { resourceVersion: '10', continue: next }, items }))
      }
    const messages: string[] = []
    const tell = (_fields: object, message = '') => void messages.push(message)
    const log: Log = { ...silentLog, info: tell, warn: tell, child: () => log }
    await begin({ log }, refuse(422), page([sent('x', 5)], 'more'), page([sent('y', 6)], ''), (request) =>
      request.send(added(sent('z', 11))),
    )
    await until(() => names().length === 3)
    expect(messages, 'nothing is wrong').to.deep.equal([])
    expect(server.requests[2]?.query.get('continue')).to.equal('more')
    expect(server.requests[3]?.query.get('resourceVersion')).to.equal('10')
  })

  describe('never goes back', () => {
    it('to an older version of an object', async () => {
      await play(listing(10, sent('x', 9, { n: 'new' })))
      last().send(modified(sent('x', 8, { n: 'old' })), deleted(sent('x', 8)), bookmark(11))
      await until(() => cache.resourceVersion === '11')
      expect(cache.get('a', 'x')?.data?.n).to.equal('new')
    })

    it('for versions beyond the integer precision of a number', async () => {
      const big = '90071992547409931'
      await play(listing(10))
      const object = sent('x', 0)
      last().send(added({ ...object, metadata: { ...object.metadata, resourceVersion: `${big}2` } }))
      last().send(
        modified({ ...object, data: { n: 'old' }, metadata: { ...object.metadata, resourceVersion: `${big}1` } }),
      )
      last().send({ type: 'BOOKMARK', object: { metadata: { resourceVersion: `${big}3` } } })
      await until(() => cache.resourceVersion === `${big}3`)
      expect(cache.get('a', 'x')?.data?.n).to.equal('')
    })

    it('for the list of a server that lags behind', async () => {
      const lagging = (request: PlayedRequest) => {
        request.send(added(sent('deleted', 3)), bookmark(8, true))
      }
      await play(listing(10, sent('x', 9)), refuse(410), lagging, listing(12, sent('x', 9)))
      last().end()
      await until(() => cache.resourceVersion === '12')
      expect(names()).to.deep.equal(['x'])
      expect(seen).to.deep.equal(['added x'])
    })
  })

  describe('own writes', () => {
    it('appear at once, with one event', async () => {
      await play(listing(10))
      cache.observeWrite(sent('x', 12) as ConfigMap)
      expect(names()).to.deep.equal(['x'])
      expect(cache.isAtLeast('12')).to.equal(false)
      last().send(added(sent('x', 12)))
      await until(() => cache.isAtLeast('12'))
      expect(seen).to.deep.equal(['added x'])
    })

    it('are ignored if the stream has passed them', async () => {
      await play(listing(10, sent('x', 9)))
      last().send(deleted(sent('x', 12)))
      await until(() => names().length === 0)
      cache.observeWrite(sent('x', 11) as ConfigMap)
      expect(names()).to.deep.equal([])
    })

    it("do not freeze the writer's object", async () => {
      await play(listing(10))
      const mine = sent('x', 12) as ConfigMap
      cache.observeWrite(mine)
      cache.get('a', 'x')
      expect(Object.isFrozen(mine.data)).to.equal(false)
    })

    it('of deletions persist over a late event of the stream', async () => {
      await play(listing(10, sent('x', 9)))
      cache.observeRemoval({ namespace: 'a', name: 'x' }, 'uid-of-x')
      last().send(modified(sent('x', 11)), bookmark(12))
      await until(() => cache.resourceVersion === '12')
      expect(names()).to.deep.equal([])
      last().send(deleted(sent('x', 13)), added(sent('x', 14, { uid: 'another' })))
      await until(() => cache.get('a', 'x')?.metadata.uid === 'another')
      expect(seen).to.deep.equal(['added x', 'removed x', 'added x'])
    })

    it('of deletions persist over the late answer to an earlier write', async () => {
      await play(listing(10, sent('x', 9)))
      cache.observeRemoval({ namespace: 'a', name: 'x' }, 'uid-of-x')
      cache.observeWrite(sent('x', 11))
      expect(names()).to.deep.equal([])
      cache.observeWrite(sent('x', 14, { uid: 'another' }))
      expect(seen).to.deep.equal(['added x', 'removed x', 'added x'])
    })

    it('of deletions do not hide another object with the same name', async () => {
      await play(listing(10, sent('x', 9, { uid: 'second' })))
      cache.observeRemoval({ namespace: 'a', name: 'x' }, 'first')
      expect(names()).to.deep.equal(['x'])
    })
  })

  it('continues if a handler throws or rejects', async () => {
    await play(listing(10))
    cache.subscribe(() => {
      throw new Error('broken handler')
    })
    cache.subscribe((async () => {
      throw new Error('broken promise')
    }) as () => void)
    const after: string[] = []
    cache.subscribe((event) => after.push(event.object.metadata.name))
    last().send(added(sent('x', 11)), added(sent('y', 12)))
    await until(() => after.length === 2)
    await until(() => cache.metrics().handlerErrors === 4)
    expect(server.requests).to.have.length(1)
  })

  it('continues if an index function throws', async () => {
    await begin({ indexes: { bad: () => JSON.parse('no') } }, listing(10, sent('x', 5)))
    await cache.whenSynced()
    expect(names()).to.deep.equal(['x'])
  })

  it('passes the previous object with a modified event', async () => {
    await play(listing(10, sent('x', 5, { n: '1' })))
    let before: string | undefined
    cache.subscribe((event) => {
      if (event.type === 'modified') before = event.previous.data?.n
    })
    last().send(modified(sent('x', 11, { n: '2' })))
    await until(() => before === '1')
    expect([cache.byIndex('n', '1').length, cache.byIndex('n', '2').length]).to.deep.equal([0, 1])
  })
})
