import { CREDENTIAL_KEYS } from '../../contracts/sources/providers.ts'
import type { OutgoingFetch } from '../outgoing/port.ts'
import { refuseStatus, send } from './calls.ts'
import { type Connection, type Repository, SourceError, type SourceProvider } from './port.ts'

/** The one repository that such a connection is. */
const ID = 'repository'
const ADVERTISEMENT = 'application/x-git-upload-pack-advertisement'

/** Plain Git over https, by its smart protocol (gitprotocol-http); over ssh nothing is asked. */
export function gitProvider(fetch: OutgoingFetch): SourceProvider {
  async function look(connection: Connection, signal?: AbortSignal): Promise<Repository> {
    const { baseUrl, username = 'git', credentials } = connection
    const url = baseUrl.replace(/\/+$/, '')
    if (!url.startsWith('https://')) return repositoryAt(url, '')
    const token = credentials[CREDENTIAL_KEYS.token]
    const authorization = `Basic ${Buffer.from(`${username}:${token}`).toString('base64')}`
    const headers = { accept: ADVERTISEMENT, ...(token !== undefined && { authorization }) }
    const answer = await send(fetch, `${url}/info/refs?service=git-upload-pack`, { headers, signal })
    refuseStatus(answer.status, new URL(url).host)
    if (answer.headers.get('content-type') === ADVERTISEMENT) return repositoryAt(url, headOf(await answer.text()))
    throw new SourceError('Unreachable', `${new URL(url).host} does not serve Git at this address.`)
  }
  const requireId = (id: string) => {
    if (id !== ID) throw new SourceError('NotFound', `The one repository of this source has the id "${ID}".`)
  }
  return {
    async check(connection, signal) {
      await look(connection, signal)
      const permissions = { contents: 'read' }
      return { installation: { repositorySelection: 'Selected', permissions } }
    },
    async repositories(connection, search = '', signal) {
      const found = await look(connection, signal)
      return found.fullName.toLowerCase().includes(search.toLowerCase()) ? [found] : []
    },
    async token(connection, id, signal) {
      requireId(id)
      const token = connection.credentials[CREDENTIAL_KEYS.token]
      if (token === undefined) throw new SourceError('Unsupported', 'A source over ssh has a key, which is no token.')
      const { cloneUrl } = await look(connection, signal)
      const permissions = { contents: 'read', repositories: 'one' }
      return { token, username: connection.username ?? 'git', cloneUrl, expiresAt: null, permissions }
    },
  }
}

function repositoryAt(url: string, defaultBranch: string): Repository {
  const path = new URL(url).pathname.replace(/^\/+/, '').replace(/\.git$/, '')
  const parts = path.split('/')
  return {
    id: ID,
    name: parts.at(-1) ?? path,
    fullName: path,
    owner: parts.slice(0, -1).join('/'),
    url,
    cloneUrl: url,
    defaultBranch,
    isPrivate: true,
    isArchived: false,
    description: null,
    language: null,
    pushedAt: null,
  }
}

/** The branch that HEAD stands for, from the capabilities on the first line of the advertisement. */
function headOf(advertisement: string): string {
  return /\bsymref=HEAD:refs\/heads\/([^\s\0]{1,255})/.exec(advertisement)?.[1] ?? ''
}
