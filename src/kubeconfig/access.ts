import { readFile, stat } from 'node:fs/promises'
import type { Clock } from '../core/clock.ts'

/** The TLS settings of a connection to an API server, in PEM. */
export type TlsMaterial = {
  ca?: string
  cert?: string
  key?: string
  servername?: string
  rejectUnauthorized?: boolean
}

/** How to reach an API server, with credentials that may change at run time. */
export interface ClusterAccess {
  /** Origin and optional path prefix, without a trailing slash. */
  readonly server: string
  /** The namespace of the context, or of the pod in a cluster; `default` if none is set. */
  readonly namespace: string
  readonly proxyUrl: string | undefined
  /** Returns the same object until something changes; a new object requires new connections. */
  tls(): Promise<TlsMaterial>
  /** Returns the Authorization header, or undefined if only a certificate is used. */
  authorization(): Promise<string | undefined>
  /** Called after a 401: files are read and plugins asked again before the next request. */
  refresh(): void
}

/** Returns access to the same API server as another identity, which the header alone authenticates. */
export function accessAs(access: ClusterAccess, authorization: string): ClusterAccess {
  return {
    ...access,
    async tls() {
      const { cert: _cert, key: _key, ...server } = await access.tls()
      return server
    },
    authorization: async () => authorization,
    refresh() {},
  }
}

/** How long a file is cached. Kubelets rotate tokens minutes ahead, so a ten-second-old one still works. */
const RECHECK_INTERVAL_MS = 10_000

/** A file that others replace, such as a projected token. It is read again when it changes. */
export class WatchedFile {
  readonly #path: string
  readonly #clock: Clock
  #text: string | undefined
  #stamp = ''
  #checkedAt = Number.NEGATIVE_INFINITY

  constructor(path: string, clock: Clock) {
    this.#path = path
    this.#clock = clock
  }

  /** @throws the file system's error if the file has never been readable */
  async text(): Promise<string> {
    const now = this.#clock.monotonic()
    if (this.#text !== undefined && now - this.#checkedAt < RECHECK_INTERVAL_MS) return this.#text
    try {
      const { mtimeMs, ino, size } = await stat(this.#path)
      const stamp = `${mtimeMs}:${ino}:${size}`
      if (stamp !== this.#stamp || this.#text === undefined) {
        this.#text = await readFile(this.#path, 'utf8')
        this.#stamp = stamp
      }
    } catch (error) {
      // The file may be missing briefly during a rotation: keep the old text.
      if (this.#text === undefined) throw error
    }
    this.#checkedAt = now
    return this.#text
  }

  forget(): void {
    this.#checkedAt = Number.NEGATIVE_INFINITY
    this.#stamp = ''
  }
}
