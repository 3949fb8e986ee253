import { createHmac } from 'node:crypto'
import { expect } from 'chai'
import request from 'supertest'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { DeploymentSource } from '../../crds/sources.ts'

const SOURCE = '55555555-5555-4555-8555-555555555555'
const NOBODY = '99999999-9999-4999-8999-999999999999'
const MISSING = '66666666-6666-4666-8666-666666666666'

describe('a delivery that nobody has asked for', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  before(async () => {
    server = await startShop()
    const spec = { displayName: 'Git', provider: 'GitLab', baseUrl: 'https://git.example.com' }
    server.put(DeploymentSource, SOURCE, spec, boundaryNamespace(B))
  })
  after(() => server.stop())

  const signed = { 'x-hub-signature-256': `sha256=${createHmac('sha256', 'x').update('{}').digest('hex')}` }
  async function answerTo(boundaryId: string, rest: string, headers: Record<string, string>) {
    const url = `/boundaries/${boundaryId}/sources/${rest}`
    const { status, body } = await request(server.app).post(url).set(headers).send('{}')
    const { correlationId: _, traceId: __, ...said } = body
    return { status, said: JSON.stringify(said).replaceAll(boundaryId, 'B') }
  }

  const asked: [sentence: string, rest: string][] = [
    ['names no source', 'github/webhooks'],
    ['names a source that is not there', `github/webhooks?source=${MISSING}`],
    ['names a source of another type', `github/webhooks?source=${SOURCE}`],
    ['is of a type that is none', 'gopher/webhooks'],
  ]
  for (const [sentence, rest] of asked) {
    for (const [form, headers] of Object.entries({ signed: { ...signed, 'x-github-event': 'push' }, unsigned: {} })) {
      it(`hears the same whether or not there is such a boundary, where it ${sentence} (${form})`, async () => {
        const here = await answerTo(B, rest, headers)
        expect(here.status).to.equal(404)
        expect(await answerTo(NOBODY, rest, headers)).to.deep.equal(here)
      })
    }
  }

  it('has the same work done for it', async () => {
    const work = async (boundaryId: string) => {
      const before = server.client.calls.length
      await answerTo(boundaryId, 'github/webhooks', { 'cache-control': 'no-cache' })
      return server.client.calls.slice(before).map((call) => JSON.stringify(call).replaceAll(boundaryId, 'B'))
    }
    expect(await work(NOBODY)).to.deep.equal(await work(B))
  })
})
