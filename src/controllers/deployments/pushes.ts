import { DEPLOYMENTS_KEPT, type DeployedCollection, deploymentIdFor } from '../../contracts/deployments.ts'
import { isOfRepository, repositoryNameOf } from '../../contracts/sources/repositories.ts'
import { BOUNDARY_LABEL } from '../../core/labels.ts'
import { boundaryNamespace } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import type { DeploymentSource } from '../../crds/sources.ts'
import { headToDeploy } from '../../desired/pushes.ts'
import { namespace } from '../../kube/builtin.ts'
import { isKubeError } from '../../kube/errors.ts'
import type { Pass, Workspace } from '../engine/controller.ts'
import { deploymentsOf, OWNER_KINDS } from './owners.ts'

type Pushed = KubeObject & {
  spec: {
    repositoryUrl?: string
    branch?: string
    deployOnPush?: boolean
    deploymentSourceId?: string
  }
}

const PROVIDERS = {
  GitHub: 'GitHub',
  GitLab: 'GitLab',
  Gitea: 'Gitea',
  Circuit: 'Gitea',
  Bitbucket: 'Bitbucket',
} as const

/** Deploys what was pushed: to each app and site of the boundary that follows the branch, once. */
export async function deployPushed(pass: Pass<typeof DeploymentSource>): Promise<Outcome> {
  const { object, records } = pass
  if ((object.status?.heads ?? []).length === 0) return done()
  for (const { resource, segment } of OWNER_KINDS) {
    for (const owner of records.cache<Pushed>(resource).list()) {
      if (owner.spec.deploymentSourceId !== object.metadata.name || owner.metadata.deletionTimestamp !== undefined)
        continue
      if (isHere(owner, object, records)) await deploy(pass, owner, segment as DeployedCollection)
    }
  }
  return done()
}

/** One of another boundary that names this source gets nothing of it. */
function isHere(owner: KubeObject, { metadata }: DeploymentSource, records: Workspace): boolean {
  const labels = records.cache(namespace).get(undefined, owner.metadata.namespace ?? '')?.metadata.labels
  return boundaryNamespace(labels?.[BOUNDARY_LABEL] ?? '') === metadata.namespace
}

async function deploy(
  { object: source, records }: Pass<typeof DeploymentSource>,
  owner: Pushed,
  collection: DeployedCollection,
): Promise<void> {
  const { repositoryUrl, branch = 'main', deployOnPush = true } = owner.spec
  if (repositoryUrl === undefined || !deployOnPush) return
  const { namespace: space = '', name } = owner.metadata
  const known = deploymentsOf(records, { namespace: space, collection, name })
  const heads = (source.status?.heads ?? []).filter((head) => isOfRepository(source.spec, head, repositoryUrl))
  const head = headToDeploy(heads, branch, { made: owner.metadata.creationTimestamp, known, kept: DEPLOYMENTS_KEPT })
  if (head === undefined) return
  const { commit, deliveryId } = head
  const id = deploymentIdFor(`${space}/${collection}/${name}`, 'push', source.metadata.name, deliveryId, commit)
  if (known.some((one) => one.metadata.name === id)) return
  const provider =
    source.spec.provider === 'Git' || source.spec.provider === 'Registry' ? 'Git' : PROVIDERS[source.spec.provider]
  const record = {
    apiVersion: DeploymentRecord.apiVersion,
    kind: DeploymentRecord.kind,
    metadata: { name: id, namespace: space },
    spec: {
      ...{ ownerCollection: collection, ownerName: name, strategy: 'Build', branch, commitSha: commit, provider },
      ...{ repositoryName: repositoryNameOf(repositoryUrl), source: source.spec.displayName },
    },
  }
  try {
    await records.client.create<KubeObject>(DeploymentRecord.resource, record)
  } catch (error) {
    if (!isKubeError(error, 'AlreadyExists')) throw error
  }
}
