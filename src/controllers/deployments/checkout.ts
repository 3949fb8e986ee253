import { type Connection, connectionTo, SourceError } from '../../adapters/sources/port.ts'
import type { GitCredentials } from '../../contracts/builds/request.ts'
import { knownHostsOf } from '../../contracts/sources/hostKeys.ts'
import { CREDENTIAL_KEYS, isDisabled, secretNameOf } from '../../contracts/sources/providers.ts'
import { isSameRepository } from '../../contracts/sources/repositories.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { secretTexts } from '../../core/secretData.ts'
import { DeploymentSource } from '../../crds/sources.ts'
import { readSecret } from '../workload/secrets.ts'
import type { RecordPass } from './owners.ts'
import type { BuildOptions } from './types.ts'

type CachedSource = DeploymentSource & { [key: string]: unknown }
type BoundaryPass = Pick<RecordPass, 'records' | 'scope'>

/** Returns the deployment source with this id in the boundary, unless it is being deleted. */
export function sourceWithId({ records, scope }: BoundaryPass, id: string | undefined): CachedSource | undefined {
  if (id === undefined) return undefined
  const namespace = boundaryNamespace(scope.boundaryId ?? '')
  const source = records.cache(DeploymentSource).get(namespace, id)
  return source?.metadata.deletionTimestamp === undefined ? source : undefined
}

/**
 * Returns the credentials for one repository, from the deployment source that its owner names. Only URLs of that source
 * get credentials, whatever a manifest names.
 *
 * @throws SourceError
 */
export async function checkoutCredentials(
  pass: BoundaryPass,
  { repositoryUrl, deploymentSourceId }: { repositoryUrl: string; deploymentSourceId: string },
  { sources }: Pick<BuildOptions, 'sources'>,
): Promise<GitCredentials> {
  const source = sourceWithId(pass, deploymentSourceId)
  if (source === undefined)
    throw new SourceError('NotFound', `There is no deployment source "${deploymentSourceId}" in the boundary.`)
  if (isDisabled(source))
    throw new SourceError('NotAllowed', 'The deployment source is disabled: it gives no credentials.')
  const { namespace = '' } = source.metadata
  const found = await readSecret({ workloads: pass.records }, namespace, secretNameOf(source))
  const credentials = secretTexts(found?.data)
  const connection = connectionTo(source, credentials)
  return connection.provider === 'Git'
    ? gitCredentialsOf(connection, repositoryUrl)
    : tokenFor(connection, repositoryUrl, sources)
}

const repositoryNotFound = () =>
  new SourceError('NotFound', 'The deployment source has no repository at repositoryUrl: check both.')

/** A plain Git source is a single repository. */
function gitCredentialsOf(connection: Connection, repositoryUrl: string): GitCredentials {
  const { baseUrl, username = 'git', credentials } = connection
  if (!isSameRepository(baseUrl, repositoryUrl)) throw repositoryNotFound()
  const { [CREDENTIAL_KEYS.token]: token, [CREDENTIAL_KEYS.privateKey]: privateKey } = credentials
  if (repositoryUrl.startsWith('ssh:') && privateKey !== undefined) {
    const knownHosts = knownHostsOf(connection)
    if (knownHosts !== undefined) return { privateKey, knownHosts }
    throw new SourceError('Unreachable', 'The host key of the deployment source is not known yet: see its status.')
  }
  if (!repositoryUrl.startsWith('ssh:') && token !== undefined) return { username, token }
  throw new SourceError('CredentialRejected', 'The deployment source holds no credential for this kind of address.')
}

async function tokenFor(
  connection: Connection,
  repositoryUrl: string,
  sources: BuildOptions['sources'],
): Promise<GitCredentials> {
  const name =
    repositoryUrl
      .replace(/(\.git)?\/*$/, '')
      .split('/')
      .at(-1) ?? ''
  const known = await sources.repositories(connection, name)
  const found = known.find(
    ({ url, cloneUrl }) => isSameRepository(cloneUrl, repositoryUrl) || isSameRepository(url, repositoryUrl),
  )
  if (found === undefined) throw repositoryNotFound()
  const { username, token } = await sources.token(connection, found.id)
  return { username, token }
}
