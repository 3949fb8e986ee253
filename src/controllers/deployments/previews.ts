import { isDisabled } from '../../contracts/sources/providers.ts'
import { isOfRepository } from '../../contracts/sources/repositories.ts'
import { PREVIEW_LABEL } from '../../core/labels.ts'
import { type KubeObject, type Resource, refOf } from '../../core/object.ts'
import { done, earliest, type Outcome } from '../../core/outcome.ts'
import type { DeploymentSource } from '../../crds/sources.ts'
import {
  isPreviewOf,
  type PreviewOwner,
  previewedBranches,
  previewOf,
  restoreEvictedHeads,
} from '../../desired/previews.ts'
import { KINDS_WITH_SOURCES, sourceOf } from '../../desired/sources.ts'
import { ignoreKubeAlreadyExists } from '../../kube/errors.ts'
import type { Pass, Rights, Workspace } from '../engine/controller.ts'
import { OWNER_INDEX } from '../engine/ownership.ts'
import { deploymentsOf } from './owners.ts'
import { followersOf, tolerateRefusal } from './pushes.ts'

/** Previews are created and deleted but never updated: once created they are ordinary resources. */
export const PREVIEW_RIGHTS: readonly Rights[] = KINDS_WITH_SOURCES.map(({ resource }) => ({
  resource,
  verbs: ['create', 'delete'],
}))

type SourcePass = Pass<typeof DeploymentSource>

/** Keeps a preview for every branch that matches an app's or site's patterns, until it expires. */
export async function keepPreviews(pass: SourcePass): Promise<Outcome> {
  const { object: source, records, clock } = pass
  const now = clock.now()
  let after: number | undefined
  for (const { resource, segment } of KINDS_WITH_SOURCES) {
    for (const owner of followersOf<PreviewOwner>(pass, resource)) {
      const previews = previewsOf<PreviewOwner>(owner, resource, records).filter(
        (object) => sourceOf(object) === source.metadata.name,
      )
      const branches = previewedBranches(owner, headsFor(pass, owner, previews, segment), now)
      after = earliest(after, ...branches.map(({ endsAt }) => Math.max(0, endsAt - now)))
      const wanted = branches.map(({ branch }) => previewOf(owner, branch))
      const isIn = (list: readonly KubeObject[], name: string) => list.some(({ metadata }) => metadata.name === name)
      // A preview may exist already: the cache is stale, or a user's own resource has its name and stays untouched.
      const missing = isDisabled(source) ? [] : wanted.filter(({ metadata }) => !isIn(previews, metadata.name))
      for (const preview of missing)
        after = earliest(
          after,
          await tolerateRefusal(pass, preview, () =>
            records.client.create(resource, preview).catch(ignoreKubeAlreadyExists),
          ),
        )
      for (const preview of previews.filter(({ metadata }) => !isIn(wanted, metadata.name)))
        await records.client.remove(resource, refOf(preview), { uid: preview.metadata.uid })
    }
  }
  await removePreviews(pass, (owner) => sourceOf(owner) !== source.metadata.name)
  return done({ after })
}

/** Returns the known heads of the repository's branches. */
function headsFor(
  { object: source, records }: SourcePass,
  owner: PreviewOwner,
  previews: PreviewOwner[],
  collection: string,
) {
  const { repositoryUrl } = owner.spec
  if (repositoryUrl === undefined) return []
  const heads = source.status?.heads ?? []
  const own = heads.filter((head) => isOfRepository(source.spec, head, repositoryUrl))
  const following = previews
    .filter(({ spec }) => spec.repositoryUrl === repositoryUrl)
    .map(({ spec: { branch = 'main' }, metadata: { namespace, name, creationTimestamp = '' } }) => {
      const deployed = deploymentsOf(records, { namespace, collection, name })
      const times = [creationTimestamp, ...deployed.map(({ metadata }) => metadata.creationTimestamp ?? '')]
      return { branch, toldAt: Math.max(...times.map((time) => Date.parse(time) || 0)) }
    })
  return [...own, ...restoreEvictedHeads(heads, own, following)]
}

/** Deletes previews that follow the source. Those whose owner is gone are garbage-collected. */
async function removePreviews(pass: SourcePass, isToGo: (owner: KubeObject) => boolean): Promise<void> {
  const { records } = pass
  for (const { resource } of KINDS_WITH_SOURCES)
    for (const preview of followersOf<KubeObject>(pass, resource)) {
      const owner = ownerOfPreview(preview, resource, records)
      if (owner !== undefined && isToGo(owner))
        await records.client.remove(resource, refOf(preview), { uid: preview.metadata.uid })
    }
}

function previewsOf<Owner extends KubeObject>(owner: KubeObject, resource: Resource, records: Workspace): Owner[] {
  const owned = records.cache<Owner>(resource).byIndex(OWNER_INDEX, owner.metadata.uid ?? '')
  return owned.filter((object) => object.metadata.namespace === owner.metadata.namespace && isPreviewOf(object, owner))
}

function ownerOfPreview(preview: KubeObject, resource: Resource, records: Workspace) {
  const { labels, namespace } = preview.metadata
  const name = labels?.[PREVIEW_LABEL]
  const owner = name === undefined ? undefined : records.cache(resource).get(namespace, name)
  return owner !== undefined && isPreviewOf(preview, owner) ? owner : undefined
}

/** Deletes the previews of a deleted source: neither pushes nor their expiry would reach them any more. */
export async function endPreviews(pass: SourcePass): Promise<Outcome> {
  await removePreviews(pass, () => true)
  return done()
}

/** Returns the sources of a resource's previews, and of the owner if it is a preview. */
export function previewSources(object: KubeObject, records: Workspace): (string | undefined)[] {
  const found = KINDS_WITH_SOURCES.find(({ kind }) => kind === object.kind)
  if (found === undefined) return []
  const previews = previewsOf(object, found.resource, records)
  const owner = ownerOfPreview(object, found.resource, records)
  return [...previews, ...(owner === undefined ? [] : [owner])].map(sourceOf)
}
