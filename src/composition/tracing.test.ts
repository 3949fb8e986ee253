import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { traceOf } from '../api/http/tracing.ts'
import type { Tracing } from './openTelemetry.ts'
import { openTracing } from './tracing.ts'

type Span = {
  name: string
  traceId: string
  spanId: string
  parentSpanId?: string
  status: { code?: number }
  attributes: { key: string; value: { stringValue?: string; intValue?: number } }[]
}

type Collected = { spans: Span[]; paths: (string | undefined)[] }

/** The spans that a collector receives until tracing stops. */
async function collected(traceRatio: number, trace: (tracing: Tracing) => void): Promise<Collected> {
  const received: { path: string | undefined; body: string }[] = []
  const collector = createServer(async (request, response) => {
    received.push({ path: request.url, body: await text(request) })
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  await new Promise<void>((done) => collector.listen(0, '127.0.0.1', done))
  const otlpEndpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`
  const tracing = await openTracing({ otlpEndpoint, traceRatio, role: 'facade' })
  if (tracing !== undefined) trace(tracing)
  await tracing?.stop()
  collector.close()
  type Body = { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] }
  const bodies = received.map(({ body }) => JSON.parse(body) as Body)
  const scopes = bodies.flatMap(({ resourceSpans }) => resourceSpans.flatMap(({ scopeSpans }) => scopeSpans))
  return { spans: scopes.flatMap(({ spans }) => spans), paths: received.map(({ path }) => path) }
}

describe('openTracing and traceOf', () => {
  const request = { method: 'GET', route: '/boundaries/{boundaryId}', beganAt: Date.now(), milliseconds: 3 }
  const PARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7'

  it('return undefined without a collector', async () => {
    expect(await openTracing({ otlpEndpoint: undefined, traceRatio: 1, role: 'facade' })).to.equal(undefined)
  })

  it('export each request with the ids of the returned traceparent', async () => {
    const [own, continued] = [traceOf('mine', undefined), traceOf(undefined, `${PARENT}-01`)]
    const { spans, paths } = await collected(1, ({ traced }) => {
      traced({ ...request, status: 200, trace: own })
      traced({ ...request, status: 503, trace: continued })
    })

    expect(paths).to.deep.equal(['/v1/traces'])
    expect(spans.map(({ name }) => name)).to.deep.equal(Array(2).fill('GET /boundaries/{boundaryId}'))
    expect(own.traceparent).to.contain(`${spans[0]?.traceId}-${spans[0]?.spanId}`)
    expect(continued.traceparent).to.contain(`${spans[1]?.traceId}-${spans[1]?.spanId}`)
    expect(spans[1]).to.include({ traceId: '4bf92f3577b34da6a3ce929d0e0e4736', parentSpanId: '00f067aa0ba902b7' })
    expect(spans.map(({ status }) => status.code ?? 0)).to.deep.equal([0, 2])
    const named = Object.fromEntries((spans[0]?.attributes ?? []).map(({ key, value }) => [key, value]))
    expect(named['freehold.correlation_id']).to.deep.equal({ stringValue: 'mine' })
    expect(named['http.route']).to.deep.equal({ stringValue: '/boundaries/{boundaryId}' })
  })

  it('set the sampled flag by the configured ratio if the caller sent no trace', async () => {
    for (const [ratio, flags] of [
      [0, '00'],
      [1, '01'],
    ] as const) {
      const { spans } = await collected(ratio, (tracing) => {
        const trace = traceOf(undefined, undefined, tracing)
        expect(trace.traceparent.slice(-2)).to.equal(flags)
        tracing.traced({ ...request, status: 200, trace })
      })
      expect(spans).to.have.length(ratio)
    }
    expect(traceOf(undefined, undefined).traceparent).to.match(/-00$/)
  })

  it("sample by the flag of the caller's trace", async () => {
    const all = await collected(1, ({ traced }) =>
      traced({ ...request, status: 200, trace: traceOf(undefined, `${PARENT}-00`) }),
    )
    expect(all.spans).to.deep.equal([])
    const none = await collected(0, ({ traced }) => {
      traced({ ...request, status: 200, trace: traceOf(undefined, `${PARENT}-01`) })
      traced({ ...request, status: 200, trace: traceOf(undefined, undefined) })
    })
    expect(none.spans.map(({ parentSpanId }) => parentSpanId)).to.deep.equal(['00f067aa0ba902b7'])
  })
})
