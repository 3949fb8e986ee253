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

/** How to reach one API server, with credentials that may change while we run. */
export interface ClusterAccess {
  /** Origin and optional path prefix, without a slash at the end. */
  readonly server: string
  /** Namespace of the context, or of the pod in a cluster; `default` if none is named. */
  readonly namespace: string
  readonly proxyUrl: string | undefined
  /** The same object as long as nothing changed: a new one asks for new connections. */
  tls(): Promise<TlsMaterial>
  /** Value of the Authorization header, or undefined if a certificate is all there is. */
  authorization(): Promise<string | undefined>
  /** The API server answered 401: read files and ask plugins again before the next request. */
  refresh(): void
}

/** The same API server for somebody else, who is known by a header alone. */
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

/** How long a file's text is cached. Kubelets rotate tokens minutes ahead, so ten seconds of an old one do no harm. */
const RECHECK_MILLISECONDS = 10_000

/** The text of a file that others replace, such as a projected token: read again when it changed. */
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

  /** @throws Error of the file system if the file could never be read */
  async text(): Promise<string> {
    const now = this.#clock.monotonic()
    if (this.#text !== undefined && now - this.#checkedAt < RECHECK_MILLISECONDS) return this.#text
    try {
      const { mtimeMs, ino, size } = await stat(this.#path)
      const stamp = `${mtimeMs}:${ino}:${size}`
      if (stamp !== this.#stamp || this.#text === undefined) {
        this.#text = await readFile(this.#path, 'utf8')
        this.#stamp = stamp
      }
    } catch (error) {
      // The file may be missing for a moment during a rotation: the old text is better than none.
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
