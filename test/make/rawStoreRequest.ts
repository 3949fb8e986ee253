import { createHash, createHmac } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { AccessKeyPair } from '../../src/contracts/objectstorage.ts'

export type RawRequest = {
  method?: string
  /** As it is sent, a byte for each character. */
  target: string
  protocol?: string
  /** Undefined: no such header. */
  host?: string | undefined
  headers?: Readonly<Record<string, string>>
  /** Signed for this path and query, in the encoding that signatures require; unsigned if absent. */
  signed?: { pair: AccessKeyPair; path: string; query?: string }
}

export type RawAnswer = { status: number; requestId: string | undefined }

/** Sends requests that no client would send. A missing answer has status 0. */
export async function sendRaw(endpoint: string, request: RawRequest): Promise<RawAnswer> {
  const { method = 'GET', target, protocol = 'HTTP/1.1', host = 'host' in request ? undefined : 'h' } = request
  const own = host === undefined ? {} : { host }
  const signature = request.signed === undefined ? {} : signatureOf(method, host ?? '', request.signed)
  const headers = { ...own, ...request.headers, ...signature, 'content-length': '0', connection: 'close' }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const { hostname, port } = new URL(endpoint)
  const socket = connect(Number(port), hostname)
  const parts: Buffer[] = []
  socket.on('data', (part) => parts.push(part))
  socket.end(Buffer.from(`${method} ${target} ${protocol}\r\n${lines.join('')}\r\n`, 'latin1'))
  await once(socket, 'close')
  const [head = ''] = Buffer.concat(parts).toString('latin1').split('\r\n\r\n', 1)
  return {
    status: Number(/^HTTP\/1\.\d (\d+)/.exec(head)?.[1] ?? 0),
    requestId: /^x-amz-request-id: (\S+)/im.exec(head)?.[1],
  }
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const keyed = (key: Buffer | string, text: string) => createHmac('sha256', key).update(text).digest()

/** AWS, "Signature Version 4", of a request without a body. */
function signatureOf(method: string, host: string, { pair, path, query = '' }: NonNullable<RawRequest['signed']>) {
  const date = new Date().toISOString().replace(/[-:]|\.\d+/g, '')
  const own = { host, 'x-amz-content-sha256': sha256(''), 'x-amz-date': date }
  const names = Object.keys(own).join(';')
  const lines = Object.entries(own).map(([name, value]) => `${name}:${value}\n`)
  const canonical = [method, path, query, lines.join(''), names, sha256('')].join('\n')
  const scope = [date.slice(0, 8), 'us-east-1', 's3', 'aws4_request']
  const signing = scope.reduce<Buffer | string>(keyed, `AWS4${pair.secretAccessKey}`)
  const signature = keyed(signing, ['AWS4-HMAC-SHA256', date, scope.join('/'), sha256(canonical)].join('\n'))
  const credential = `${pair.accessKeyId}/${scope.join('/')}`
  const words = [`Credential=${credential}`, `SignedHeaders=${names}`, `Signature=${signature.toString('hex')}`]
  return { ...own, authorization: `AWS4-HMAC-SHA256 ${words.join(', ')}` }
}
