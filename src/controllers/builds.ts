import { builtDeployment } from '../contracts/builds/labels.ts'
import { BUILD_NAMESPACE, type BuiltDeployment, buildName } from '../contracts/builds/progress.ts'
import type { BuildRequest, BuildSettings } from '../contracts/builds/request.ts'
import type { KubeObject, Resource } from '../core/object.ts'
import { type BuildJob, buildObjects, ownedByJob } from '../desired/builds/index.ts'
import { job, networkPolicy, secret } from '../kube/builtin.ts'
import type { KubeClient } from '../kube/client.ts'
import { ignoreKubeAlreadyExists } from '../kube/errors.ts'

type Client = Pick<KubeClient, 'get' | 'create' | 'mergePatch' | 'remove'>

/**
 * Starts a build, or continues an interrupted start. The Job is created suspended, so that it owns the Secret from the
 * start, and resumed when everything exists. A running build is left alone, even if a retry has other credentials.
 */
export async function startBuild(client: Client, request: BuildRequest, settings: BuildSettings): Promise<void> {
  const { job: wanted, dependents } = buildObjects(request, settings)
  const made = await createOnce<BuildJob>(client, job, wanted)
  if (made.spec?.suspend !== true) return
  const owner = { name: made.metadata.name, uid: made.metadata.uid ?? '' }
  for (const object of dependents) {
    await createOnce(client, object.kind === 'Secret' ? secret : networkPolicy, ownedByJob(object, owner))
  }
  await client.mergePatch(job, jobRefOf(builtDeployment(request)), { spec: { suspend: false } }, { uid: owner.uid })
}

/** Cancels a build and deletes its objects, if there are any. */
export async function cancelBuild(client: Client, deployment: BuiltDeployment): Promise<void> {
  await client.remove(job, jobRefOf(deployment))
}

export const jobRefOf = (deployment: BuiltDeployment) => ({ namespace: BUILD_NAMESPACE, name: buildName(deployment) })

async function createOnce<One extends KubeObject>(
  client: Client,
  resource: Resource,
  wanted: KubeObject,
): Promise<One> {
  const { namespace = BUILD_NAMESPACE, name } = wanted.metadata
  const made = (await client.create(resource, wanted).catch(ignoreKubeAlreadyExists)) as One | undefined
  return made ?? client.get<One>(resource, { namespace, name })
}
