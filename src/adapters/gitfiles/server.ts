import type { OutgoingFetch } from '../outgoing/port.ts'
import { asSourceError, basic, refuseStatus } from '../sources/calls.ts'
import { SourceError } from '../sources/port.ts'
import { DELIMITER, FLUSH, type Packet, packet, packetsOf, textOf, unreadable } from './packets.ts'
import type { FilesPlace } from './port.ts'

const ID = /^[0-9a-f]{40}$/
const REFS_MAX = 1000

/** One repository at one server, for one reading. */
export class GitServer {
  readonly #fetch: OutgoingFetch
  readonly #place: FilesPlace
  readonly #host: string
  readonly #signal: AbortSignal
  #canFilter = false

  constructor(fetch: OutgoingFetch, place: FilesPlace, signal: AbortSignal) {
    this.#fetch = fetch
    this.#place = place
    this.#host = URL.parse(place.url)?.host ?? 'The repository'
    this.#signal = signal
  }

  /** Learns what the server can do. @throws SourceError */
  async greet(): Promise<void> {
    const answer = await this.#ask('/info/refs?service=git-upload-pack')
    const lines = [...this.#linesOf(answer)].filter((line) => Buffer.isBuffer(line)).map(textOf)
    const version = lines.indexOf('version 2')
    if (version < 0)
      throw new SourceError('Unsupported', `${this.#host} does not speak version 2 of Git's protocol at this address.`)
    const said = lines.slice(version + 1)
    if (said.some((line) => line.startsWith('object-format=') && line !== 'object-format=sha1'))
      throw new SourceError('Unsupported', 'The repository names its objects by SHA-256, which is not read.')
    this.#canFilter = said.some((line) => /^fetch=(.* )?filter( |$)/.test(line))
  }

  /** Of a branch, else of a tag, else of what is the id of a commit itself. @throws SourceError NotFound */
  async commitOf(ref: string): Promise<string> {
    const names = [`refs/heads/${ref}`, `refs/tags/${ref}`]
    const prefixes = names.map((name) => packet(`ref-prefix ${name}\n`))
    const answer = await this.#command('ls-refs', [packet('peel\n'), ...prefixes])
    const known = new Map<string, string>()
    for (const line of [...this.#linesOf(answer)].slice(0, REFS_MAX)) {
      if (!Buffer.isBuffer(line)) continue
      const [id = '', name = '', ...attributes] = textOf(line).split(' ')
      const peeled = attributes.find((each) => each.startsWith('peeled:'))?.slice('peeled:'.length)
      known.set(name, peeled ?? id)
    }
    const found = names.map((name) => known.get(name)).find((id) => id !== undefined) ?? (ID.test(ref) ? ref : '')
    if (ID.test(found)) return found
    throw new SourceError('NotFound', `The repository has no branch and no tag "${ref}".`)
  }

  /**
   * The pack with these objects; of a commit, without its history and, where that can be had, without its files.
   *
   * @throws SourceError
   */
  async fetch(ids: readonly string[], { isShallow }: { isShallow: boolean }): Promise<Buffer> {
    const answer = await this.#command('fetch', [
      packet('no-progress\n'),
      packet('ofs-delta\n'),
      ...(isShallow ? [packet('deepen 1\n')] : []),
      ...(isShallow && this.#canFilter ? [packet('filter blob:none\n')] : []),
      ...ids.map((id) => packet(`want ${id}\n`)),
      packet('done\n'),
    ])
    const pack: Buffer[] = []
    let isPack = false
    for (const line of this.#linesOf(answer)) {
      if (!Buffer.isBuffer(line)) continue
      if (!isPack) isPack = textOf(line) === 'packfile'
      // The first byte says what it is: 1 a piece of the pack, 2 news for people, 3 an error.
      else if (line[0] === 1) pack.push(line.subarray(1))
      else if (line[0] === 3) throw this.#refused()
    }
    if (!isPack) throw unreadable(this.#host)
    return Buffer.concat(pack)
  }

  async #command(name: string, lines: readonly string[]): Promise<Buffer> {
    return this.#ask('/git-upload-pack', [packet(`command=${name}\n`), DELIMITER, ...lines, FLUSH].join(''))
  }

  async #ask(path: string, body?: string): Promise<Buffer> {
    const { url, credentials } = this.#place
    const headers = {
      'user-agent': 'git/2 freehold',
      'git-protocol': 'version=2',
      ...(credentials !== undefined && { authorization: basic(credentials.username, credentials.token) }),
      ...(body !== undefined && { 'content-type': 'application/x-git-upload-pack-request' }),
    }
    const address = `${url.replace(/\/+$/, '')}${path}`
    const call = { headers, signal: this.#signal, ...(body !== undefined && { method: 'POST', body }) }
    const answer = await this.#fetch(address, call).catch(asSourceError)
    if (answer.status >= 300 && answer.status < 400)
      throw new SourceError('Unreachable', `${this.#host} redirects: give the address that it redirects to.`)
    refuseStatus(answer.status, this.#host)
    return Buffer.from(await answer.arrayBuffer())
  }

  *#linesOf(answer: Buffer): Generator<Packet> {
    for (const line of packetsOf(answer, this.#host)) {
      if (Buffer.isBuffer(line) && line.subarray(0, 4).toString('latin1') === 'ERR ') throw this.#refused()
      yield line
    }
  }

  #refused(): SourceError {
    return new SourceError('NotFound', `${this.#host} does not give what was asked of the repository: check ref.`)
  }
}
