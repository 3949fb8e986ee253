import { timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { isPlatformRequest, parseAccessEntry } from '../../src/adapters/objectstorage/accessEntry.ts'
import { DAY_MS } from '../../src/core/clock.ts'
import { AccessFiles } from './accessFiles.ts'

export type ReceiverOptions = {
  /** The folder of the logs. */
  folder: string
  /** Contains a folder of the store for each bucket. */
  objects: string
  /** The value of the header Authorization that the store sends. */
  authorization: string
  /** The access key of the platform, whose requests are not kept, because they would displace those of others. */
  platform: string
  /** The size of each log and of its one predecessor; 4 MiB, as much as a look-up reads. */
  fileBytes?: number
  /** Called for entries that were not kept, whatever the reason. */
  onLost?: (why: string) => void
}

/**
 * The store accepts 8 KiB of a request. It repeats most of them three times, and JSON takes up to six characters for a
 * byte; the rest is for the text of an error, which contains paths. A smaller limit would let a client hide its
 * requests.
 */
export const BODY_BYTES = 256 * 1024

/**
 * The kernel's maximum backlog: a connection that finds no room retries after a second, when the store has given up.
 */
export const BACKLOG = 4_096

/**
 * Receives the store's reports of requests, and answers each when it is written. Answers have no body: the store would
 * not read it, and would keep a connection open for each.
 */
export function createReceiver({ onLost = () => undefined, ...options }: ReceiverOptions): Server {
  const { folder, objects, fileBytes = 4 * 1024 * 1024 } = options
  const files = new AccessFiles({ folder, objects, fileBytes })
  const sweep = () => files.sweep(Date.now()).catch((error: Error) => onLost(`not swept, ${error.message}`))
  void sweep()
  setInterval(sweep, DAY_MS).unref()
  const server = createServer(async (request, response) => {
    const status = await statusFor(request)
    response.writeHead(status, { 'content-length': 0, ...(status === 204 ? {} : { connection: 'close' }) }).end()
  })
  // Longer than the store keeps an idle connection, so that no request arrives just as it closes.
  server.keepAliveTimeout = 120_000
  server.requestTimeout = 10_000
  return server

  async function statusFor(request: IncomingMessage): Promise<number> {
    const isStore = isSame(request.headers.authorization ?? '', options.authorization)
    const body = await bodyOf(request)
    if (!isStore) return 401
    if (request.method !== 'POST') return 405
    if (typeof body === 'string') return lost(body, 400)
    // At startup the store checks whether anybody listens.
    if (body.length === 0) return 204
    const entry = parseAccessEntry(body.toString('utf8'))
    if (entry === undefined) return lost('not about a request', 400)
    if (isPlatformRequest(entry, options.platform)) return 204
    return files.append(entry).then(
      () => 204,
      (error: Error) => lost(`not written, ${error.message}`, 500),
    )
  }

  function lost(why: string, status: number): number {
    onLost(why)
    return status
  }
}

/** With listeners, because an iterator takes several turns for each request. */
function bodyOf(request: IncomingMessage): Promise<Buffer | 'too long' | 'cut off'> {
  return new Promise((settle) => {
    const chunks: Buffer[] = []
    let length = 0
    request.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length <= BODY_BYTES) chunks.push(chunk)
    })
    request.on('end', () => settle(length <= BODY_BYTES ? Buffer.concat(chunks) : 'too long'))
    request.on('error', () => settle('cut off'))
  })
}

function isSame(received: string, wanted: string): boolean {
  const [one, other] = [Buffer.from(received), Buffer.from(wanted)]
  return one.length === other.length && timingSafeEqual(one, other)
}
