import { randomBytes, randomUUID } from 'node:crypto'

/** The ids of one request in logs and traces. */
export type Trace = {
  readonly correlationId: string
  readonly traceId: string
  /** The span of this request. */
  readonly spanId: string
  /** The caller's span, if the caller began the trace. */
  readonly parent?: { readonly spanId: string; readonly isSampled: boolean }
  readonly traceparent: string
}

/** An answered request, for a trace collector. Times are milliseconds. */
export type TracedRequest = {
  readonly trace: Omit<Trace, 'traceparent'>
  readonly method: string
  /** The path template. */
  readonly route: string
  readonly status: number
  readonly beganAt: number
  readonly milliseconds: number
}
export type RequestTracer = {
  /** Whether a trace that begins here is sampled. */
  samples(traceId: string): boolean
  traced(request: TracedRequest): void
}

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/
const CORRELATION_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/

const RANDOM_BYTES = 24
/** Pooled, because a system call per request costs more than routing. No byte is used twice, and none is a secret. */
let randomPool = Buffer.alloc(0)
let poolOffset = 0

function randomHex(): string {
  if (poolOffset + RANDOM_BYTES > randomPool.length) {
    randomPool = randomBytes(RANDOM_BYTES * 256)
    poolOffset = 0
  }
  poolOffset += RANDOM_BYTES
  return randomPool.toString('hex', poolOffset - RANDOM_BYTES, poolOffset)
}

/**
 * Returns the caller's correlation id and trace if they are well-formed, otherwise new ones (W3C Trace Context, level
 * 1). An id with other characters could forge log lines.
 */
export function traceOf(
  correlationId: string | undefined,
  traceparent: string | undefined,
  tracer?: Pick<RequestTracer, 'samples'>,
): Trace {
  const parent = TRACEPARENT.exec(traceparent ?? '')
  const isUsable = parent !== null && !/^0+$/.test(parent[1] ?? '') && !/^0+$/.test(parent[2] ?? '')
  const random = randomHex()
  const traceId = isUsable ? (parent[1] ?? '') : random.slice(0, 32)
  const ownFlags = () => (tracer?.samples(traceId) === true ? '01' : '00')
  const flags = isUsable ? (parent[3] ?? '00') : ownFlags()
  return {
    correlationId: correlationId !== undefined && CORRELATION_ID.test(correlationId) ? correlationId : randomUUID(),
    traceId,
    spanId: random.slice(32),
    ...(isUsable && { parent: { spanId: parent[2] ?? '', isSampled: (Number.parseInt(flags, 16) & 1) === 1 } }),
    traceparent: `00-${traceId}-${random.slice(32)}-${flags}`,
  }
}
