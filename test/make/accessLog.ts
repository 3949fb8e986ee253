import { randomBytes } from 'node:crypto'
import type { AccessEntry } from '../../src/adapters/objectstorage/accessEntry.ts'
import type { SeededRandom } from './random.ts'

/** A request as a client can send it. */
export type SentRequest = {
  /** The path in the first line of the request: without blanks and control characters, which the store refuses. */
  target: string
  referer?: string
  agent?: string
}

/** versitygw's report of a request (s3log/webhook.go of 1.8). */
export function toldEntry(change: Partial<AccessEntry> = {}): AccessEntry {
  return {
    ...{ Time: '2026-11-28T18:44:35.123456789Z', RemoteIP: '127.0.0.1', Requester: 'AKIA1' },
    ...{ RequestID: randomBytes(8).toString('hex').toUpperCase(), Operation: 's3_GetObject', Bucket: 'one', Key: 'a' },
    ...{ HttpStatus: 200, ErrorCode: '', BytesSent: 0, ObjectSize: 7 },
    ...change,
  }
}

export const logged = (change: Partial<AccessEntry> = {}) => `${JSON.stringify(toldEntry(change))}\n`

/**
 * A request by an attacker who knows the log, and puts its lines, about requests to this bucket, wherever a client can.
 * Forged requests have the id FORGED.
 */
export function hostileRequest(random: SeededRandom, bucket: string, log: readonly string[]): SentRequest {
  const words = (most: number) =>
    Array.from({ length: random.below(most + 1) }, () => hostileWord(random, bucket, log))
      .join('')
      .toWellFormed()
  const segment = random.chance(0.4) ? bucket : words(3) || bucket
  const key = `${random.pick(['', 'b'])}${words(3) || 'b'}`
  const path = random.chance(0.3)
    ? encodeURIComponent(`${segment}/${key}`)
    : [segment, key].map(encodeURIComponent).join('/')
  const query = random.pick(['', '', '?x', `?versionId=${encodeURIComponent(words(2))}`])
  const header = () =>
    random.chance(0.6)
      ? 'sdk'
      : words(3)
          .replaceAll(/[^ -~]/g, ' ')
          .trim()
  return { target: `/${path}${query}`, referer: header(), agent: header() }
}

function hostileWord(random: SeededRandom, bucket: string, log: readonly string[]): string {
  const status = random.pick([200, 403])
  const forged = logged({ Bucket: bucket, Key: 'y', RequestID: 'FORGED', Requester: 'AKIA9', HttpStatus: status })
  // With log lines in its key, it must not be longer.
  const seen = log.filter((line) => line.length < 600)
  const line = random.pick([forged.trimEnd(), forged, random.pick([...seen, forged])])
  const at = random.below(line.length)
  const parts = [line, `\n${line}`, line.slice(0, at), line.slice(at), `"}\n${line}`, line.replace('{', '","')]
  const words = ['\n', '\n', ' ', '/', bucket, '"', '\\', '"}\n', '\u2028', '\u0000', '__proto__', 'y']
  return random.pick([...parts, JSON.stringify(line), ...words])
}
