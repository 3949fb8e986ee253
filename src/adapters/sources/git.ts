import { CREDENTIAL_KEYS } from '../../contracts/sources/providers.ts'
import type { ResolveAddresses } from '../outgoing/addresses.ts'
import type { OutgoingFetch } from '../outgoing/port.ts'
import { assertSuccess, basicAuthHeader, sendToProvider } from './calls.ts'
import { type Connection, type Repository, SourceError, type SourceProvider } from './port.ts'
import { nameFilter, repositoryOf } from './repositories.ts'
import { hostUrlOf } from './rest.ts'
import { readAdvertisementOverSsh } from './ssh.ts'

/** The id of the only repository of such a connection. */
const REPOSITORY_ID = 'repository'
/** Bytes to read, enough for the longest first line; all refs of a large repository take megabytes. */
const READ_MAX_BYTES = 128 * 1024
const ADVERTISEMENT = 'application/x-git-upload-pack-advertisement'

/** Plain Git: one repository over https (gitprotocol-http) or ssh, of which only the first line of refs is read. */
export function gitProvider(fetch: OutgoingFetch, addressesOf: ResolveAddresses): SourceProvider {
  type Found = { repository: Repository; hostKey?: string }

  async function readRepository(connection: Connection, signal?: AbortSignal): Promise<Found> {
    const url = hostUrlOf(connection)
    if (!url.startsWith('https://')) {
      const { firstLine, hostKey } = await readAdvertisementOverSsh(addressesOf, connection, signal)
      return { repository: repositoryAt(url, headOf(firstLine)), hostKey }
    }
    const { username = 'git', credentials } = connection
    const token = credentials[CREDENTIAL_KEYS.token]
    const headers = {
      accept: ADVERTISEMENT,
      ...(token !== undefined && { authorization: basicAuthHeader(username, token) }),
    }
    const options = { headers, beginning: READ_MAX_BYTES, signal }
    const answer = await sendToProvider(fetch, `${url}/info/refs?service=git-upload-pack`, options)
    assertSuccess(answer, new URL(url).host)
    if (answer.headers.get('content-type') === ADVERTISEMENT)
      return { repository: repositoryAt(url, headOf(await answer.text())) }
    throw new SourceError('Unreachable', `${new URL(url).host} does not serve Git at this address.`)
  }
  return {
    async check(connection, signal) {
      const { hostKey } = await readRepository(connection, signal)
      return { installation: { repositorySelection: 'Selected', permissions: { contents: 'read' } }, hostKey }
    },
    async repositories(connection, search, signal) {
      const { repository } = await readRepository(connection, signal)
      return [repository].filter(nameFilter(search))
    },
    async token(connection, id, signal) {
      if (id !== REPOSITORY_ID)
        throw new SourceError('NotFound', `The one repository of this source has the id "${REPOSITORY_ID}".`)
      const token = connection.credentials[CREDENTIAL_KEYS.token]
      if (token === undefined) throw new SourceError('Unsupported', 'A source over ssh has a key, not a token.')
      const { cloneUrl } = (await readRepository(connection, signal)).repository
      const permissions = { contents: 'read', repositories: 'one' }
      return { token, username: connection.username ?? 'git', cloneUrl, expiresAt: null, permissions }
    },
  }
}

function repositoryAt(url: string, defaultBranch: string): Repository {
  const fullName = new URL(url).pathname.replace(/^\/+/, '').replace(/\.git$/, '')
  return repositoryOf({ id: REPOSITORY_ID, fullName, url, defaultBranch })
}

/** Returns the branch of HEAD, from the capabilities on the first line of the advertisement. */
function headOf(advertisement: string): string {
  return /\bsymref=HEAD:refs\/heads\/([^\s\0]{1,255})/.exec(advertisement)?.[1] ?? ''
}
