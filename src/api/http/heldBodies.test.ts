import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { expect } from 'chai'
import { until } from '../../../test/make/until.ts'
import { bearer, startFacade } from '../../../test/worlds/facadeServer.ts'

const MANY = '11111111-1111-4111-8111-111111111111'
const OTHER = '22222222-2222-4222-8222-222222222222'
const personOf = (number: number) => `3000000${number}-0000-4000-8000-000000000000`

describe('bodies held in memory', () => {
  let server: Awaited<ReturnType<typeof startFacade>>
  let port: number
  const open: ClientRequest[] = []

  before(async () => {
    server = await startFacade({ limits: { heldBodyBytes: 400_000 } })
    for (const boundary of [MANY, OTHER]) {
      server.boundary(boundary)
      server.group(boundary, 'shop')
      for (let number = 0; number < 5; number += 1) server.grant(personOf(number), 'Owner', `/boundaries/${boundary}`)
    }
    port = (await server.facade.listen(0, '127.0.0.1')).port
  })
  after(() => server.stop())
  afterEach(() => {
    for (const sent of open.splice(0)) sent.destroy()
  })

  /** Announces a body of 100 kB. @returns "may come" after 100 Continue, or the status and Retry-After of the refusal */
  async function announce(boundary: string, person: number): Promise<string> {
    const sent = request({
      ...{ host: '127.0.0.1', port, method: 'POST', agent: false },
      path: `/boundaries/${boundary}/resourcegroups/shop/resources/vectorclusters/index`,
      headers: {
        authorization: bearer(personOf(person)),
        'content-type': 'application/json',
        'content-length': '100000',
        expect: '100-continue',
      },
    }).on('error', () => undefined)
    open.push(sent)
    sent.flushHeaders()
    const answered = once(sent, 'response').then(([answer]) => {
      const { statusCode, headers } = answer as IncomingMessage
      return `${statusCode} ${headers['retry-after']}`
    })
    return Promise.race([once(sent, 'continue').then(() => 'may come'), answered])
  }

  it('of one boundary leave room for those of other boundaries', async () => {
    expect(await announce(MANY, 0)).to.equal('may come')
    expect(await announce(MANY, 1)).to.equal('may come')
    expect(await announce(MANY, 2)).to.equal('429 5')
    expect(await announce(OTHER, 3)).to.equal('may come')
    for (const sent of open.slice(1)) sent.destroy()
    await until('a closed request has released its bytes', async () => (await announce(MANY, 4)) === 'may come')
  })
})
