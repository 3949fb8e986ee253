import type { Asked, Said, StandIn } from './standIn.ts'

/**
 * Plain Git over https, of which only the first line of the advertisement is read: a repository at any path, for one
 * token.
 */
export class PlayedGit implements StandIn {
  readonly #basic: string

  constructor(token: string) {
    this.#basic = `Basic ${Buffer.from(`git:${token}`).toString('base64')}`
  }

  answer({ path, authorization }: Asked): Said {
    if (authorization !== this.#basic) return { status: 401 }
    if (!path.endsWith('/info/refs')) return { status: 404 }
    const headers = { 'content-type': 'application/x-git-upload-pack-advertisement' }
    return { status: 200, headers, body: 'symref=HEAD:refs/heads/main' }
  }
}
