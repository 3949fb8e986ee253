import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { expect } from 'chai'
import { PATIENCE } from '../../../test/make/until.ts'
import { BOUNDARY as B, OWNER, startShop } from '../../../test/worlds/shop.ts'
import { inlineWorkers } from '../../adapters/workers/inline.ts'
import { type Workers, WorkRefused } from '../../adapters/workers/port.ts'
import { send } from './sending.ts'

const SLICE = 65_536

describe('send with a long text', () => {
  const texts: [string, string][] = [
    ['of one byte a character', 'x'.repeat(3 * SLICE + 7)],
    ['of several bytes a character', 'ß✓'.repeat(SLICE)],
    ['with a surrogate pair at the end of a slice', `${'x'.repeat(SLICE - 1)}😀${'x'.repeat(SLICE - 1)}😀`],
    ['of surrogate pairs', '😀'.repeat(SLICE)],
  ]
  for (const [sentence, text] of texts) {
    it(`sends slices of 64 KiB with a turn of the event loop between them: a text ${sentence}`, async () => {
      const slices: number[] = []
      let rounds = 0
      let isOver = false
      const count = () => {
        rounds += 1
        if (!isOver) setImmediate(count)
      }
      const server = createServer((request, response) => {
        const write = response.write.bind(response) as (chunk: string) => boolean
        response.write = ((chunk: string) => {
          slices.push(chunk.length)
          return write(chunk)
        }) as typeof response.write
        count()
        void send(request, response, { status: 200, parts: [text] }).then(() => {
          isOver = true
        })
      }).listen(0)
      await once(server, 'listening')
      const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
      const received = await answer.text()
      server.close()
      expect(received === text, 'the text').to.equal(true)
      expect(answer.headers.get('content-length')).to.equal(String(Buffer.byteLength(text)))
      expect(Math.max(...slices)).to.be.at.most(SLICE)
      expect(rounds).to.be.at.least(slices.length - 1)
    })
  }
})

describe('send with a stream', () => {
  const pieces = ['x'.repeat(100_000), 'y', 'z'.repeat(200_000)]
  const counted: [string, object, number[]][] = [
    ['counts the bytes of each chunk', {}, [100_000, 1, 200_000]],
    ['counts an answer held in memory once', { held: 300_001 }, [300_001]],
    ['counts nothing for an open-ended stream', { isOpenEnded: true }, []],
  ]
  for (const [sentence, more, expected] of counted)
    it(sentence, async () => {
      const spent: number[] = []
      const spend = (bytes: number) => void spent.push(bytes)
      const server = createServer((request, response) => {
        void send(
          request,
          response,
          { status: 200, stream: Readable.from(pieces), ...more },
          { turn: () => undefined, spend },
        )
      }).listen(0)
      await once(server, 'listening')
      const received = await (await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)).text()
      server.close()
      expect(received === pieces.join(''), 'the text').to.equal(true)
      expect(spent).to.deep.equal(expected)
    })
})

describe('send with many parts', () => {
  const parts = ['[', ...Array.from({ length: 200 }, (_, index) => `"${'é'.repeat(index * 10)}",`), '0]']

  it('sends slices of whole parts', async () => {
    const slices: string[] = []
    const server = createServer((request, response) => {
      const write = response.write.bind(response) as (chunk: string) => boolean
      response.write = ((chunk: string) => {
        slices.push(chunk)
        return write(chunk)
      }) as typeof response.write
      void send(request, response, { status: 200, parts })
    }).listen(0)
    await once(server, 'listening')
    const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const received = await answer.text()
    server.close()
    expect(received === parts.join(''), 'the text').to.equal(true)
    expect(answer.headers.get('content-length')).to.equal(String(Buffer.byteLength(received)))
    expect(slices).to.have.length(Math.ceil(received.length / SLICE))
    for (const slice of slices.slice(0, -1)) expect(slice.endsWith('",')).to.equal(true)
  })

  it('adds at most one close listener while it waits for the client', async () => {
    const listeners = new Set<number>()
    const server = createServer((request, response) => {
      const write = response.write.bind(response) as (chunk: string) => boolean
      response.write = ((chunk: string) => {
        listeners.add(response.listenerCount('close'))
        return write(chunk)
      }) as typeof response.write
      void send(request, response, { status: 200, parts: Array.from({ length: 40 }, () => 'x'.repeat(SLICE)) })
    }).listen(0)
    await once(server, 'listening')
    await (await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)).text()
    server.close()
    const [least = 0, ...more] = [...listeners].sort((one, other) => one - other)
    expect(more.filter((count) => count > least + 1)).to.deep.equal([])
  })

  it('waits for a turn of the caller before each further slice', async () => {
    const seen: string[] = []
    const turn = async () => {
      seen.push('turn')
      await new Promise((resolve) => setImmediate(resolve))
      seen.push('taken')
    }
    const server = createServer((request, response) => {
      const write = response.write.bind(response) as (chunk: string) => boolean
      response.write = ((chunk: string) => {
        seen.push('slice')
        return write(chunk)
      }) as typeof response.write
      void send(request, response, { status: 200, parts }, { turn, spend: () => undefined })
    }).listen(0)
    await once(server, 'listening')
    await (await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)).text()
    server.close()
    const slices = seen.filter((one) => one === 'slice').length
    expect(slices).to.be.at.least(3)
    const further = Array.from({ length: slices - 1 }, () => ['turn', 'taken', 'slice'])
    expect(seen).to.deep.equal(['slice', ...further.flat()])
  })
})

describe('the ETag of an answer', () => {
  const tagOf = async (answer: Parameters<typeof send>[2], method = 'GET') => {
    const server = createServer((request, response) => void send(request, response, answer)).listen(0)
    await once(server, 'listening')
    const { headers } = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { method })
    server.close()
    return headers.get('etag')
  }
  const body = { state: 'Healthy' }

  it('is weak and depends on the body', async () => {
    const [one, same, other] = await Promise.all(
      [body, { ...body }, { state: 'Failing' }].map((each) => tagOf({ status: 200, body: each })),
    )
    expect(one).to.match(/^W\/"[\w-]{22}"$/)
    expect([same === one, other === one]).to.deep.equal([true, false])
    expect(await tagOf({ status: 200, body }, 'HEAD')).to.equal(one)
  })

  it('differs for equal bodies with no-store', async () => {
    const headers = { 'cache-control': 'no-store' }
    const [one, same] = await Promise.all([1, 2].map(() => tagOf({ status: 200, body, headers })))
    expect(one).to.match(/^W\//)
    expect(same).to.not.equal(one)
  })

  it('is that of the handler if set, and absent for parts, writes and refusals', async () => {
    expect(await tagOf({ status: 200, body, headers: { etag: '"1-2-3"' } })).to.equal('"1-2-3"')
    expect(await tagOf({ status: 200, parts: ['{}'] })).to.equal(null)
    expect(await tagOf({ status: 200, body }, 'POST')).to.equal(null)
    expect(await tagOf({ status: 404, body })).to.equal(null)
  })
})

describe('a large JSON body', () => {
  const body = {
    tags: Object.fromEntries(Array.from({ length: 1_900 }, (_, index) => [`key-${index}`, 'x'.repeat(40)])),
  }
  const facadeWith = async (workers: Workers) => {
    const server = await startShop({}, { workers })
    const path = `/boundaries/${B}/resourcegroups/shop/resources/vectorclusters/orders`
    const answer = await server.ask('post', path).send(body)
    await server.stop()
    return answer
  }

  it('is parsed by a worker on behalf of the caller', async () => {
    const calls: unknown[] = []
    const run: Workers['run'] = (name, input, principal) => {
      calls.push([name, principal])
      return inlineWorkers.run(name, input, principal)
    }
    const { status, body: refusal } = await facadeWith({ ...inlineWorkers, run })
    expect(calls).to.deep.equal([['readJson', OWNER]])
    expect([status, refusal.code]).to.deep.equal([400, 'BAD_REQUEST'])
    expect(refusal.error).to.contain('tags')
  })

  const refusals: [ConstructorParameters<typeof WorkRefused>[0], number, string][] = [
    ['TooMany', 429, 'TOO_MANY_REQUESTS'],
    ['Busy', 503, 'SERVICE_UNAVAILABLE'],
    ['Overdue', 400, 'MODEL_BINDING_FAILED'],
  ]
  for (const [reason, status, code] of refusals) {
    it(`is refused with ${status} if the worker reports ${reason}`, async () => {
      const run = () => Promise.reject(new WorkRefused(reason, 7))
      const answer = await facadeWith({ ...inlineWorkers, run })
      expect([answer.status, answer.body.code]).to.deep.equal([status, code])
      expect(answer.headers['retry-after']).to.equal(status === 400 ? undefined : '7')
    })
  }
})

describe('send with encoded bytes', () => {
  const sent = async (answer: Parameters<typeof send>[2]) => {
    const spent: number[] = []
    const server = createServer((request, response) => {
      const sending = { turn: () => undefined, spend: (bytes: number) => void spent.push(bytes) }
      void send(request, response, answer, sending)
    }).listen(0)
    await once(server, 'listening')
    const received = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const text = await received.text()
    server.close()
    return { heard: received, text, spent }
  }

  it('sends the bytes with their length, and counts them', async () => {
    const { heard: received, text, spent } = await sent({ status: 200, bytes: Buffer.from('Größe') })
    expect([text, received.headers.get('content-length')]).to.deep.equal(['Größe', '7'])
    expect(spent).to.deep.equal([7])
  })

  it('sends no Content-Length with a 304', async () => {
    const { heard: received } = await sent({ status: 304, headers: { etag: '"1"' } })
    expect([received.status, received.headers.get('content-length')]).to.deep.equal([304, null])
  })
})

describe('HEAD of a stream', () => {
  for (const isOpenEnded of [true, false])
    it(`sends the headers and destroys the stream: ${isOpenEnded ? 'open-ended' : 'finite'}`, async () => {
      const stream = new Readable({ read: () => undefined })
      stream.push('a first line')
      const server = createServer(
        (request, response) =>
          void send(request, response, { status: 200, headers: { 'content-type': 'text/plain' }, stream, isOpenEnded }),
      )
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      const { port } = server.address() as AddressInfo
      try {
        const { headers } = await fetch(`http://127.0.0.1:${port}`, {
          method: 'HEAD',
          signal: AbortSignal.timeout(PATIENCE),
        }).then(async (answer) => {
          await answer.text()
          return answer
        })
        expect(headers.get('content-type')).to.equal('text/plain')
        expect(stream.destroyed).to.equal(true)
      } finally {
        stream.destroy()
        server.closeAllConnections()
        server.close()
      }
    })
})

describe('send to a client that has disconnected', () => {
  it('destroys the stream', async () => {
    const stream = new Readable({ read: () => undefined })
    const { promise: over, resolve } = Promise.withResolvers<void>()
    const leaving = new AbortController()
    const server = createServer(async (request, response) => {
      leaving.abort()
      await once(response, 'close')
      await send(request, response, { status: 200, stream, isOpenEnded: true }).finally(resolve)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    try {
      await fetch(`http://127.0.0.1:${port}`, { signal: leaving.signal }).catch(() => undefined)
      await over
      expect(stream.destroyed).to.equal(true)
    } finally {
      stream.destroy()
      server.close()
    }
  })
})
