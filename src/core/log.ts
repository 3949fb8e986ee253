import { pino } from 'pino'
import { stackInSources } from './stack.ts'

/** Structured logging: fields first, then one sentence. */
export type Log = {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  child(fields: object): Log
}

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/**
 * Names of fields whose values are redacted, in the first three levels of the fields of a log line. Secrets do not
 * belong in fields at all; this is the safety net.
 */
const SECRET_FIELDS = [
  'authorization',
  'cookie',
  'password',
  'apiKey',
  'clientSecret',
  'client_secret',
  'token',
  'value',
  'data',
  'stringData',
]

function redactedPaths(): string[] {
  return SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`])
}

function serializeError(error: Error): object {
  const serialized = pino.stdSerializers.err(error)
  return typeof serialized?.stack === 'string' ? { ...serialized, stack: stackInSources(serialized.stack) } : serialized
}

/** Creates a logger that writes JSON lines to standard output. */
export function createLog(level: LogLevel, fields: object = {}): Log {
  return pino({
    level,
    base: fields,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: serializeError },
    redact: { paths: redactedPaths(), censor: '[redacted]' },
  })
}

export const silentLog: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => silentLog,
}
