import { PassThrough, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { request } from 'undici'
import { ArchiveRefusedError } from '../../contracts/builds/archive.ts'
import { sha256 } from '../../core/names.ts'
import { RegistryError } from '../registry/port.ts'
import type { SourceArchives, StoredArchive } from './port.ts'
import { type ArchiveReader, type ArchiveSink, ReaderGone } from './reading/port.ts'
import { threadedReader } from './reading/reader.ts'

/** Bytes of one archive, compressed. */
const MAX_ARCHIVE_BYTES = 512 * 1024 ** 2
const MANIFEST = 'application/vnd.oci.image.manifest.v1+json'
const SOURCE = 'application/vnd.freehold.source.v1'
const EMPTY = '{}'

export type SourceArchiveOptions = {
  /** Such as http://127.0.0.1:5000. */
  readonly url: string
  readonly tokenFor: (type: 'repository', name: string, actions: readonly string[]) => Promise<string>
  readonly maxBytes?: number
  /** Validates archives; by default on a thread of its own. */
  readonly reader?: ArchiveReader
}

type Call = {
  method: 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  body?: Readable | string
  type?: string
  signal?: AbortSignal | undefined
}

/** Stores sources as OCI artifacts, like images. @see https://github.com/opencontainers/image-spec */
export function sourceArchives(options: SourceArchiveOptions): SourceArchives {
  const { url, tokenFor, maxBytes = MAX_ARCHIVE_BYTES, reader = threadedReader() } = options

  const send = (...args: [token: string, wanted: number, target: string | URL, sent: Call]) => sendTo(url, ...args)
  const finished = (place: URL, digest: string) => {
    place.searchParams.set('digest', digest)
    return place
  }

  async function keepRead(
    repository: string,
    archive: Readable,
    reading: ArchiveSink,
    signal: AbortSignal | undefined,
  ): Promise<StoredArchive> {
    const token = await tokenFor('repository', repository, ['pull', 'push'])
    const uploads = `/v2/${repository}/blobs/uploads/`
    const begun = await send(token, 202, uploads, { method: 'POST', signal })
    const body = new PassThrough()
    const sent = send(token, 202, begun, { method: 'PATCH', body, signal })
    reading.read.catch((error: Error) => body.destroy(error))
    let bytes = 0
    const split = pipeline(archive, async (source) => {
      bytes = await pipeToBoth(source, { body, reading, maxBytes })
    })
    const results = await Promise.allSettled([reading.read, raceFailures(split, [reading.read, sent]), sent])
    const [read, , place] = results
    const refused = results
      .map((one) => (one.status === 'rejected' ? one.reason : undefined))
      .filter((one) => one !== undefined)
    if (read.status === 'rejected' || place.status === 'rejected' || refused.length > 0) {
      await send(token, 204, begun, { method: 'DELETE' }).catch(() => {})
      // Reports the cause: the other errors only follow from it.
      const own = [ArchiveRefusedError, ReaderGone, RegistryError].map((kind) =>
        refused.find((error) => error instanceof kind),
      )
      throw own.find((error) => error !== undefined) ?? refused[0]
    }
    const archived = read.value
    await send(token, 201, finished(place.value, archived.digest), { method: 'PUT', signal })
    const config = { mediaType: 'application/vnd.oci.empty.v1+json', ...describeBlob(EMPTY) }
    const empty = await send(token, 202, uploads, { method: 'POST', signal })
    await send(token, 201, finished(empty, config.digest), { method: 'PUT', body: EMPTY, signal })
    const layers = [{ mediaType: `${SOURCE}.tar+gzip`, digest: archived.digest, size: bytes }]
    const manifest = JSON.stringify({ schemaVersion: 2, mediaType: MANIFEST, artifactType: SOURCE, config, layers })
    const { digest } = describeBlob(manifest)
    await send(token, 201, `/v2/${repository}/manifests/${digest}`, {
      method: 'PUT',
      body: manifest,
      type: MANIFEST,
      signal,
    })
    return { reference: `${repository}@${digest}`, sizeBytes: bytes, ...archived }
  }

  return {
    async keep(repository, archive, { signal, sender = repository } = {}): Promise<StoredArchive> {
      const reading = await reader.begin(sender, signal)
      try {
        return await keepRead(repository, archive, reading, signal)
      } finally {
        reading.cut()
      }
    },
  }
}

/** Calls the registry. @returns the URL for the next call. @throws RegistryError; ArchiveRefused for the body */
async function sendTo(url: string, token: string, wanted: number, target: string | URL, sent: Call): Promise<URL> {
  const { method, body, type = 'application/octet-stream', signal } = sent
  const headers = { authorization: `Bearer ${token}`, 'content-type': type }
  const address = new URL(target, url)
  try {
    const answer = await request(address, { method, headers, ...(body && { body }), signal: signal ?? null })
    await answer.body.dump()
    if (answer.statusCode === wanted) return new URL(String(answer.headers.location ?? address), url)
    throw new RegistryError('Refused', `The registry answered ${answer.statusCode} to a part of an uploaded source.`)
  } catch (error) {
    if (error instanceof RegistryError || error instanceof ArchiveRefusedError) throw error
    throw new RegistryError('Unreachable', 'The registry did not accept an uploaded source.', error)
  }
}

/** Rejects as soon as another side fails, even while the sender is still sending or waiting. */
function raceFailures(split: Promise<void>, others: readonly Promise<unknown>[]): Promise<unknown> {
  return Promise.race([
    split,
    new Promise((_, refuse) => {
      for (const one of others) one.catch(refuse)
    }),
  ])
}

const digestOf = (text: string) => `sha256:${sha256(text)}`
const describeBlob = (text: string) => ({ digest: digestOf(text), size: Buffer.byteLength(text) })

type Targets = { body: PassThrough; reading: ArchiveSink; maxBytes: number }

/** Sends the stream to both targets, at the speed of the slower one. @returns the number of bytes */
async function pipeToBoth(source: AsyncIterable<Buffer>, { body, reading, maxBytes }: Targets): Promise<number> {
  let bytes = 0
  try {
    for await (const chunk of source) {
      bytes += chunk.length
      if (bytes > maxBytes) throw new ArchiveRefusedError(`It is longer than ${maxBytes} bytes.`)
      await reading.take(chunk)
      await writeChunk(body, chunk)
    }
    reading.end()
    body.end()
    return bytes
  } catch (error) {
    reading.cut()
    body.destroy(error as Error)
    throw error
  }
}

/** Writes with backpressure. A destroyed stream emits no drain and no further close. @throws Error if destroyed */
async function writeChunk(target: PassThrough, chunk: Buffer): Promise<void> {
  if (!target.destroyed && !target.write(chunk)) await waitForDrain(target)
  if (target.destroyed) throw new Error('It was not fully received.')
}

function waitForDrain(target: PassThrough): Promise<void> {
  return new Promise((done) => {
    const end = () => {
      target.off('drain', end).off('close', end)
      done()
    }
    target.on('drain', end).on('close', end)
  })
}
