import { createHash, createHmac } from 'node:crypto'
import { request as overHttp, type RequestOptions } from 'node:http'
import { request as overHttps } from 'node:https'
import type { AccessKeyPair } from '../../contracts/objectstorage.ts'
import type { Options } from './calls.ts'

/** A version or a marker: its key as the list says it, and its bytes where the list says these. */
export type Listed = { shown: string; exact: Buffer | undefined; versionId: string | undefined }

/**
 * Calls with keys in bytes. The AWS clients take keys as text and read lists as XML, and neither holds all that a store
 * takes for a key.
 */
export type ExactKeys = {
  /** The first thousand versions and markers with this prefix. */
  list(bucket: string, prefix: Buffer, options: Options): Promise<readonly Listed[]>
  /** The first thousand folders with this prefix, up to the next slash; also those without an object. */
  folders(bucket: string, prefix: Buffer, options: Options): Promise<readonly Listed[]>
  remove(bucket: string, key: Buffer, versionId: string | undefined, options: Options): Promise<void>
}

export type ExactOptions = { endpoint: string; regionName: string; credentials: AccessKeyPair; timeout: number }

type Query = readonly (readonly [name: string, value: Buffer | string])[]

export function exactKeys(store: ExactOptions): ExactKeys {
  return {
    async list(bucket, prefix, options) {
      const query: Query = [
        ['encoding-type', 'url'],
        ['prefix', prefix],
        ['versions', ''],
      ]
      return listedIn(await signed(store, 'GET', bucket, Buffer.alloc(0), query, options))
    },
    async folders(bucket, prefix, options) {
      const query: Query = [
        ['delimiter', '/'],
        ['encoding-type', 'url'],
        ['prefix', prefix],
        ['versions', ''],
      ]
      return listedIn(await signed(store, 'GET', bucket, Buffer.alloc(0), query, options), 'CommonPrefixes')
    },
    async remove(bucket, key, versionId, options) {
      await signed(store, 'DELETE', bucket, key, versionId === undefined ? [] : [['versionId', versionId]], options)
    },
  }
}

/** Percent-encoded as signatures want it, byte by byte. */
function encoded(value: Buffer | string): string {
  return [...Buffer.from(value as Buffer)]
    .map((byte) => {
      const character = String.fromCharCode(byte)
      return /[\w.~-]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
    })
    .join('')
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const keyed = (key: Buffer | string, text: string) => createHmac('sha256', key).update(text).digest()

/** Signs a request without a body (AWS, "Signature Version 4") and sends it. @throws Error like those of the AWS clients */
async function signed(
  { endpoint, regionName, credentials, timeout }: ExactOptions,
  method: string,
  bucket: string,
  key: Buffer,
  query: Query,
  { abortSignal }: Options,
): Promise<string> {
  const { protocol, hostname, port, host, pathname } = new URL(endpoint)
  const base = pathname.replace(/\/$/, '')
  const path = `${base}/${bucket}${key.length === 0 ? '' : `/${encoded(key).replaceAll('%2F', '/')}`}`
  const words = query.map(([name, value]) => `${name}=${encoded(value)}`).join('&')
  const date = new Date().toISOString().replace(/[-:]|\.\d+/g, '')
  const body = sha256('')
  const names = 'host;x-amz-content-sha256;x-amz-date'
  const headers = { host, 'x-amz-content-sha256': body, 'x-amz-date': date }
  const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`)
  const canonical = [method, path, words, lines.join(''), names, body].join('\n')
  const scope = [date.slice(0, 8), regionName, 's3', 'aws4_request']
  const signing = scope.reduce<Buffer | string>(keyed, `AWS4${credentials.secretAccessKey}`)
  const signature = keyed(signing, ['AWS4-HMAC-SHA256', date, scope.join('/'), sha256(canonical)].join('\n')).toString(
    'hex',
  )
  const credential = `${credentials.accessKeyId}/${scope.join('/')}`
  const authorization = `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names}, Signature=${signature}`
  const timed = AbortSignal.timeout(timeout)
  return send(protocol === 'https:' ? overHttps : overHttp, {
    ...{ method, hostname, port, path: words === '' ? path : `${path}?${words}` },
    headers: { ...headers, authorization },
    signal: abortSignal === undefined ? timed : AbortSignal.any([abortSignal, timed]),
  })
}

function send(request: typeof overHttp, options: RequestOptions): Promise<string> {
  return new Promise((settle, reject) => {
    const asked = request(options, (answer) => {
      const parts: Buffer[] = []
      answer.on('data', (part: Buffer) => parts.push(part))
      answer.on('error', reject)
      answer.on('end', () => {
        const text = Buffer.concat(parts).toString()
        const httpStatusCode = answer.statusCode ?? 0
        if (httpStatusCode < 300) return settle(text)
        const name = /<Code>(\w+)<\/Code>/.exec(text)?.[1] ?? ''
        reject(Object.assign(new Error('The store refused it.'), { name, $metadata: { httpStatusCode } }))
      })
    })
    asked.on('error', reject)
    asked.end()
  })
}

function listedIn(text: string, entries = 'Version|DeleteMarker'): Listed[] {
  const isEncoded = /<EncodingType>url<\/EncodingType>/.test(text)
  return [...text.matchAll(new RegExp(`<(${entries})>(.*?)</\\1>`, 'gs'))].map(([, , entry = '']) => {
    const [key, versionId] = ['Key|Prefix', 'VersionId'].map((name) =>
      plain(new RegExp(`<(?:${name})>([^<]*)</`).exec(entry)?.[1] ?? ''),
    ) as [string, string]
    const exact = isEncoded ? decodedKey(key) : undefined
    return { shown: exact?.toString() ?? key, exact, versionId: versionId === '' ? undefined : versionId }
  })
}

/** The bytes of a key in an answer with the encoding `url`. */
export const decodedKey = (text: string) =>
  Buffer.from(
    text
      .replaceAll('+', ' ')
      .replace(/%([0-9A-Fa-f]{2})|[^\0-\x7f]+/g, (all, hex?: string) =>
        hex === undefined ? Buffer.from(all).toString('latin1') : String.fromCharCode(Number.parseInt(hex, 16)),
      ),
    'latin1',
  )

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

const plain = (text: string) =>
  text.replace(/&(?:#x([0-9A-Fa-f]+)|#(\d+)|(\w+));/g, (all, hex?: string, decimal?: string, name = '') => {
    if (hex === undefined && decimal === undefined) return ENTITIES[name] ?? all
    return String.fromCodePoint(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16))
  })
