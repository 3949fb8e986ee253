import { DEPLOYMENTS_KEPT, type DeployedCollection, deploymentIdFor } from '../../contracts/deployments.ts'
import { isDisabled } from '../../contracts/sources/providers.ts'
import { isOfRepository, originOf } from '../../contracts/sources/repositories.ts'
import { messageOf } from '../../core/errors.ts'
import { BOUNDARY_LABEL, GROUP_LABEL, PREVIEW_LABEL } from '../../core/labels.ts'
import { boundaryNamespace } from '../../core/names.ts'
import type { KubeObject, Resource } from '../../core/object.ts'
import { done, earliest, type Outcome } from '../../core/outcome.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import type { DeploymentSource } from '../../crds/sources.ts'
import { headToDeploy } from '../../desired/pushes.ts'
import { KINDS_WITH_SOURCES } from '../../desired/sources.ts'
import { namespace } from '../../kube/builtin.ts'
import { ignoreKubeAlreadyExists, isKubeError } from '../../kube/errors.ts'
import type { Pass, Workspace } from '../engine/controller.ts'
import { related } from '../engine/lookups.ts'
import { deploymentsOf } from './owners.ts'

type SourcePass = Pass<typeof DeploymentSource>

type Pushed = KubeObject & {
  spec: {
    repositoryUrl?: string
    branch?: string
    deployOnPush?: boolean
    deploymentSourceId?: string
  }
}

/**
 * Deploys a push once to each app and site of the boundary that follows the branch. Pushes to a disabled source wait
 * until it is enabled.
 */
export async function deployPushed(pass: SourcePass): Promise<Outcome> {
  if (isDisabled(pass.object) || (pass.object.status?.heads ?? []).length === 0) return done()
  let after: number | undefined
  for (const { resource, segment } of KINDS_WITH_SOURCES)
    for (const owner of followersOf<Pushed>(pass, resource))
      after = earliest(
        after,
        await tolerateRefusal(pass, owner, () => deploy(pass, owner, segment as DeployedCollection)),
      )
  return done({ after })
}

/** Milliseconds until a refused write is retried: its cause may not be watched here. */
const REFUSED_RETRY_MS = 600_000

/** Logs a refusal, so that one follower does not block the others. @returns milliseconds until a retry */
export async function tolerateRefusal(
  { log }: Pick<SourcePass, 'log'>,
  object: KubeObject,
  write: () => Promise<unknown>,
): Promise<number | undefined> {
  try {
    await write()
    return undefined
  } catch (error) {
    if (!isKubeError(error, 'Invalid', 'Forbidden', 'NotFound')) throw error
    const { kind, metadata } = object
    const about = { kind, namespace: metadata.namespace, name: metadata.name, error: messageOf(error) }
    log.warn(about, 'What follows from a push was refused.')
    return REFUSED_RETRY_MS
  }
}

/** Returns the resources of a kind whose code comes from the source. */
export function followersOf<Follower extends KubeObject>(
  { object: source, records }: SourcePass,
  resource: Resource,
): Follower[] {
  return related(records.cache<Follower>(resource), 'source', source.metadata.name)
    .filter((one) => one.metadata.deletionTimestamp === undefined)
    .filter((one) => groupInSourceBoundary(one, source, records) !== undefined)
}

/** Returns the group of a resource; undefined if it is in another boundary, which may not use this source. */
export function groupInSourceBoundary(
  owner: KubeObject,
  { metadata }: DeploymentSource,
  records: Workspace,
): string | undefined {
  const labels = records.cache(namespace).get(undefined, owner.metadata.namespace ?? '')?.metadata.labels
  return boundaryNamespace(labels?.[BOUNDARY_LABEL] ?? '') === metadata.namespace ? labels?.[GROUP_LABEL] : undefined
}

async function deploy(
  { object: source, records }: SourcePass,
  owner: Pushed,
  collection: DeployedCollection,
): Promise<void> {
  const { repositoryUrl, branch = 'main', deployOnPush = true } = owner.spec
  if (repositoryUrl === undefined || !deployOnPush) return
  const { namespace: space = '', name } = owner.metadata
  const known = deploymentsOf(records, { namespace: space, collection, name })
  const heads = (source.status?.heads ?? []).filter((head) => isOfRepository(source.spec, head, repositoryUrl))
  const made = {
    createdAt: owner.metadata.creationTimestamp,
    isMadeByPush: owner.metadata.labels?.[PREVIEW_LABEL] !== undefined,
  }
  const head = headToDeploy(heads, branch, { ...made, deployments: known, maxDeployments: DEPLOYMENTS_KEPT })
  if (head === undefined) return
  const { commit, deliveryId } = head
  const id = deploymentIdFor(`${space}/${collection}/${name}`, 'push', source.metadata.name, deliveryId, commit)
  if (known.some((one) => one.metadata.name === id)) return
  const record = {
    apiVersion: DeploymentRecord.apiVersion,
    kind: DeploymentRecord.kind,
    metadata: { name: id, namespace: space },
    spec: {
      ...{ ownerCollection: collection, ownerName: name, strategy: 'Build', branch, commitSha: commit },
      ...originOf(repositoryUrl, source.spec),
    },
  }
  await records.client.create<KubeObject>(DeploymentRecord.resource, record).catch(ignoreKubeAlreadyExists)
}
