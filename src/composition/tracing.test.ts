import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { traceOf } from '../api/http/tracing.ts'
import { openTracing } from './tracing.ts'

type Span = {
  name: string
  traceId: string
  spanId: string
  parentSpanId?: string
  status: { code?: number }
  attributes: { key: string; value: { stringValue?: string; intValue?: number } }[]
}

describe('traces', () => {
  it('are off, and nothing is loaded, where no collector is named', async () => {
    expect(await openTracing({ otlpEndpoint: undefined, traceRatio: 1, role: 'facade' })).to.equal(undefined)
  })

  it('tell the collector of each request under the ids that its caller was answered', async () => {
    const received: { path: string | undefined; body: string }[] = []
    const collector = createServer(async (request, response) => {
      received.push({ path: request.url, body: await text(request) })
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
    await new Promise<void>((done) => collector.listen(0, '127.0.0.1', done))
    const otlpEndpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`
    const tracing = await openTracing({ otlpEndpoint, traceRatio: 1, role: 'facade' })
    const parent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    const [own, continued] = [traceOf('mine', undefined), traceOf(undefined, parent)]
    const request = { method: 'GET', route: '/boundaries/{boundaryId}', beganAt: Date.now(), milliseconds: 3 }
    tracing?.traced({ ...request, status: 200, trace: own })
    tracing?.traced({ ...request, status: 503, trace: continued })
    await tracing?.stop()
    collector.close()

    expect(received.map(({ path }) => path)).to.deep.equal(['/v1/traces'])
    const { resourceSpans } = JSON.parse(received[0]?.body ?? '') as {
      resourceSpans: { scopeSpans: { spans: Span[] }[] }[]
    }
    const spans = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans))
    expect(spans.map(({ name }) => name)).to.deep.equal(Array(2).fill('GET /boundaries/{boundaryId}'))
    expect(own.traceparent).to.contain(`${spans[0]?.traceId}-${spans[0]?.spanId}`)
    expect(continued.traceparent).to.contain(`${spans[1]?.traceId}-${spans[1]?.spanId}`)
    expect(spans[1]).to.include({ traceId: '4bf92f3577b34da6a3ce929d0e0e4736', parentSpanId: '00f067aa0ba902b7' })
    expect(spans.map(({ status }) => status.code ?? 0)).to.deep.equal([0, 2])
    const named = Object.fromEntries((spans[0]?.attributes ?? []).map(({ key, value }) => [key, value]))
    expect(named['freehold.correlation_id']).to.deep.equal({ stringValue: 'mine' })
    expect(named['http.route']).to.deep.equal({ stringValue: '/boundaries/{boundaryId}' })
  })
})
