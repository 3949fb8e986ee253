import type { FilesPlace } from '../../adapters/gitfiles/port.ts'
import { connectionTo, SourceError, type SourcePort } from '../../adapters/sources/port.ts'
import type { CatalogueProvider } from '../../contracts/blueprints/catalogue.ts'
import { readCredentials, sourceSecretName } from '../../contracts/sources/providers.ts'
import type { BlueprintSource } from '../../crds/blueprintSources.ts'
import type { DeploymentSource } from '../../crds/sources.ts'
import { isInstallation } from '../../desired/catalogue.ts'
import type { Pass } from '../engine/controller.ts'
import { readSecret } from '../workload/secrets.ts'

export type RepositoryOptions = {
  sources: Pick<SourcePort, 'token'>
  /** Where the Git host of the platform is; undefined if it has none. */
  circuitUrl: string | undefined
}

type Found = {
  place: Pick<FilesPlace, 'url' | 'credentials'>
  /** What the status tells of it. */
  about: { provider?: CatalogueProvider; repositoryUrl?: string }
}

/**
 * Where the repository of a source is, and what it is read with: nothing for an address, a token for that one repository of an
 * installation.
 *
 * @throws SourceError
 */
export async function repositoryOf(
  { object, records }: Pick<Pass<typeof BlueprintSource>, 'object' | 'records'>,
  deploymentSources: readonly DeploymentSource[],
  { sources, circuitUrl }: RepositoryOptions,
): Promise<Found> {
  const { repositoryUrl, installationId = '', repositoryId = '' } = object.spec
  if (repositoryUrl !== undefined) return { place: { url: repositoryUrl }, about: {} }
  const source = deploymentSources.find((each) => isInstallation(each, installationId))
  if (source === undefined || source.metadata.deletionTimestamp !== undefined)
    throw new SourceError(
      'NotFound',
      `The boundary has no deployment source with the installation "${installationId}".`,
    )
  const { provider, baseUrl, credentials } = source.spec
  // The token of the platform's own Git host goes nowhere else, whatever kubectl wrote.
  if (provider === 'Circuit' && baseUrl !== circuitUrl)
    throw new SourceError('NotAllowed', 'The Git host of the deployment source is not the one of this platform.')
  if (provider === 'Registry')
    throw new SourceError('Unsupported', 'A registry holds images, not repositories of code.')
  const { name, namespace = '' } = source.metadata
  const secretName = credentials?.secretName ?? sourceSecretName(name)
  const data = (await readSecret({ workloads: records }, namespace, secretName))?.data
  const { username, token, cloneUrl } = await sources.token(connectionTo(source, readCredentials(data)), repositoryId)
  return {
    place: { url: cloneUrl, credentials: { username, token } },
    about: { provider: provider === 'Circuit' ? 'Gitea' : provider, repositoryUrl: cloneUrl },
  }
}
