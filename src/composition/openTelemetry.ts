import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  type IdGenerator,
  ParentBasedSampler,
  SamplingDecision,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { RequestTracer, TracedRequest } from '../api/http/tracing.ts'
import { VERSION } from '../core/release.ts'

export type Tracing = RequestTracer & { stop(): Promise<void> }

type Options = { readonly endpoint: string; readonly ratio: number; readonly service: string }

/**
 * Exports a span per request over OTLP/HTTP, in batches. Spans have the ids of the `traceparent` that the caller
 * received, and continue the caller's trace. Loaded only if tracing is on, because the SDK is large.
 */
export function createTracing({ endpoint, ratio, service }: Options): Tracing {
  const ids = new GivenIds()
  const root = new TraceIdRatioBasedSampler(ratio)
  const exporter = new OTLPTraceExporter({ url: `${endpoint.replace(/\/+$/, '')}/v1/traces` })
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': service, 'service.version': VERSION }),
    // The caller's decision to sample is followed, to keep traces complete.
    sampler: new ParentBasedSampler({ root }),
    idGenerator: ids,
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  })
  const tracer = provider.getTracer('freehold', VERSION)
  return {
    samples: (traceId) => root.shouldSample(ROOT_CONTEXT, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED,
    traced(request) {
      const { method, route, beganAt, milliseconds } = request
      ids.next = request.trace
      const options = { kind: SpanKind.SERVER, startTime: beganAt, attributes: attributesOf(request) }
      const span = tracer.startSpan(`${method} ${route}`, options, parentOf(request))
      if (request.status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end(beganAt + milliseconds)
    },
    stop: () => provider.shutdown(),
  }
}

/** Uses the route, not the path: the collector must not store names of tenants' resources. */
function attributesOf({ method, route, status, trace: { correlationId } }: TracedRequest) {
  return {
    'http.request.method': method,
    'http.route': route,
    'http.response.status_code': status,
    'freehold.correlation_id': correlationId,
  }
}

function parentOf({ trace: { traceId, parent } }: TracedRequest) {
  if (parent === undefined) return ROOT_CONTEXT
  const traceFlags = parent.isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId: parent.spanId, traceFlags, isRemote: true })
}

/** A span starts synchronously after its ids are set. */
class GivenIds implements IdGenerator {
  next: TracedRequest['trace'] = { traceId: '', spanId: '', correlationId: '' }

  generateTraceId = () => this.next.traceId
  generateSpanId = () => this.next.spanId
}
