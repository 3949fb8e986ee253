import { randomBytes } from 'node:crypto'
import type { SeededRandom } from './random.ts'

/** A request as a client can send it, and what the store itself says of it. */
export type LoggedRequest = {
  /** As it stands in the first line of the request: without blanks and control characters, which the store refuses. */
  target: string
  requester?: string
  referer?: string
  agent?: string
  status?: number
  error?: string
  requestId?: string
}

/** What versitygw writes of a request (s3log/file.go of 1.8): whatever ends of lines its path and version hold. */
export function logged(request: LoggedRequest): string {
  const { target, requester = '-', referer = '', agent = '', status = 403, error = 'AccessDenied' } = request
  const { requestId = randomBytes(8).toString('hex').toUpperCase() } = request
  const [path = '', query = ''] = target.split('#', 1)[0]?.split(/\?(.*)/s, 2) ?? []
  // A path with an escape that is none stays as it is.
  const parts = (/%(?![0-9A-Fa-f]{2})/.test(path) ? path : decoded(path)).split('/')
  const [bucket, key] = [parts[1], parts.slice(2).join('/')]
  const version = query.split('&').find((part) => part.startsWith('versionId='))
  const own = (text: string | undefined) => text || '-'
  return `${[
    ...[
      'freehold',
      own(bucket),
      '[28/November/2026:18:44:35 +0000]',
      '127.0.0.1',
      requester,
      requestId,
      's3_GetObject',
    ],
    ...[own(key), target, status, error, '0', '7', '1', '2', own(referer), own(agent)],
    ...[own(decoded((version?.slice('versionId='.length) ?? '').replaceAll('+', ' ')))],
    ...[randomBytes(65).toString('base64'), 'SigV4', '-', 'AuthHeader', 's3.us-east-1.amazonaws.com', '-'],
    ...[`arn:aws:s3:::${parts.join('/')}`, 'Yes'],
  ].join(' ')}\n`
}

function decoded(text: string): string {
  return Buffer.from(
    text.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, pair) => String.fromCharCode(Number.parseInt(pair, 16))),
    'latin1',
  ).toString('utf8')
}

/**
 * A request of one who has seen the log, and writes lines of it wherever a client can, of requests to this bucket. Those
 * that were never made have the id FORGED.
 */
export function hostileRequest(random: SeededRandom, bucket: string, log: readonly string[]) {
  const words = (most: number) =>
    Array.from({ length: random.below(most + 1) }, () => hostileWord(random, bucket, log)).join('')
  const segment = random.chance(0.4) ? bucket : words(3) || bucket
  const key = `${random.pick(['', 'b'])}${words(3) || 'b'}`
  const path = random.chance(0.3)
    ? encodeURIComponent(`${segment}/${key}`)
    : [segment, key].map(encodeURIComponent).join('/')
  const query = random.pick(['', '', '?x', `?versionId=${encodeURIComponent(words(2))}`])
  const header = () => (random.chance(0.6) ? 'sdk' : words(3).replaceAll('\n', ' ').trim())
  const status = random.pick([200, 403, 404])
  return { target: `/${path}${query}`, referer: header(), agent: header(), status }
}

function hostileWord(random: SeededRandom, bucket: string, log: readonly string[]): string {
  const paths = [`${bucket}/y`, `${bucket}/v%0Aw`, 'o%0Ane/y', `${bucket}/y?versionId=u%0Av`, `${bucket}/FORGED`]
  const status = random.pick([200, 403])
  const forged = logged({
    target: `/${random.pick(paths)}`,
    requester: 'AKIA9',
    status,
    error: '-',
    requestId: 'FORGED',
  })
  const line = random.pick([forged.trimEnd(), forged, random.pick([...log, forged])])
  const at = random.below(line.length)
  const parts = [line, `\n${line}`, line.slice(0, at), line.slice(at), line.replace(/ Yes\n?$/, '')]
  const words = [
    '\n',
    '\n',
    ' ',
    '/',
    bucket,
    `\nfreehold ${bucket}`,
    `arn:aws:s3:::/${bucket}/y`,
    ' Yes',
    ' Yes\n',
    'y',
  ]
  return random.pick([...parts, line.replace(/.*?\] /s, ''), ...words])
}
