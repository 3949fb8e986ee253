import type { Configuration } from '../config.ts'
import type { Tracing } from './openTelemetry.ts'

type Settings = Pick<Configuration, 'otlpEndpoint' | 'traceRatio' | 'role'>

/** Returns undefined, without loading the SDK, if no collector is configured. */
export async function openTracing({ otlpEndpoint, traceRatio, role }: Settings): Promise<Tracing | undefined> {
  if (otlpEndpoint === undefined) return undefined
  const { createTracing } = await import('./openTelemetry.ts')
  return createTracing({ endpoint: otlpEndpoint, ratio: traceRatio, service: `freehold-${role}` })
}
