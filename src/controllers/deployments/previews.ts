import { isDisabled } from '../../contracts/sources/providers.ts'
import { isOfRepository } from '../../contracts/sources/repositories.ts'
import { refOf } from '../../core/object.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import type { DeploymentSource } from '../../crds/sources.ts'
import { isPreviewOf, type Previewed, previewedBranches, previewOf } from '../../desired/previews.ts'
import { WITH_SOURCES } from '../../desired/sources.ts'
import { absent, alreadyThere } from '../../kube/errors.ts'
import type { Pass, Rights } from '../engine/controller.ts'
import { followersOf } from './pushes.ts'

/** Previews are made and deleted, and never changed: from then on they are like any other. */
export const PREVIEW_RIGHTS: readonly Rights[] = WITH_SOURCES.map(({ resource }) => ({
  resource,
  verbs: ['create', 'delete'],
}))

type SourcePass = Pass<typeof DeploymentSource>

/** Each app and site of the source has a preview for every branch that its patterns name, as long as that lives. */
export async function keepPreviews(pass: SourcePass): Promise<Outcome> {
  const { object: source, records, clock } = pass
  const now = clock.now()
  const ends: number[] = []
  for (const { resource } of WITH_SOURCES) {
    for (const owner of followersOf<Previewed>(pass, resource)) {
      const { repositoryUrl } = owner.spec
      const isOfIt = (head: { repositoryName: string }) =>
        repositoryUrl !== undefined && isOfRepository(source.spec, head, repositoryUrl)
      const branches = previewedBranches(owner, (source.status?.heads ?? []).filter(isOfIt), now)
      ends.push(...branches.map(({ endsAt }) => endsAt))
      const wanted = branches.map(({ branch }) => previewOf(owner, branch))
      const { namespace } = owner.metadata
      const there = records
        .cache(resource)
        .list({ namespace })
        .filter((object) => isPreviewOf(object, owner))
      const isIn = (list: typeof there, name: string) => list.some(({ metadata }) => metadata.name === name)
      // One may be there by the pass before, which the cache does not show yet; or it is somebody's own, and stays theirs.
      const missing = isDisabled(source) ? [] : wanted.filter(({ metadata }) => !isIn(there, metadata.name))
      for (const preview of missing) await records.client.create(resource, preview).catch(alreadyThere)
      for (const preview of there.filter(({ metadata }) => !isIn(wanted, metadata.name)))
        await records.client.remove(resource, refOf(preview), { uid: preview.metadata.uid }).catch(absent)
    }
  }
  return ends.length === 0 ? done() : done({ after: Math.max(0, Math.min(...ends) - now) })
}
