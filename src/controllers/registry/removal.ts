import { isRegistryError, type RegistryPort } from '../../adapters/registry/port.ts'
import { auditEntry } from '../../contracts/registry/audit.ts'
import { PLATFORM_ACTOR, repositoryObjectName } from '../../contracts/registry/names.ts'
import { uuidV5 } from '../../core/ids.ts'
import { refOf } from '../../core/object.ts'
import { done, type Outcome, waiting } from '../../core/outcome.ts'
import { RegistryRepository } from '../../crds/registry.ts'
import type { ResourceGroup } from '../../crds/resourcegroups.ts'
import type { Pass } from '../engine/controller.ts'
import { type Facts, planRepositoryRemovals, type Removal } from './plan.ts'

/** Why something is removed. `id` names it: a repetition after a crash has the same entry in the audit. */
type Cause = { id: string; actor?: string | undefined; detail: string; now: number }

/** Removes and audits a manifest. @returns false if the registry refuses */
export async function removeManifest(
  { audit, registry }: Pick<RegistryPort, 'audit' | 'registry'>,
  { repository, digest }: Removal,
  { id, actor = PLATFORM_ACTOR, detail, now }: Cause,
): Promise<boolean> {
  const entry = {
    id: uuidV5(`${id}/${repository}@${digest}`),
    action: 'Retain',
    actor,
    repository,
    digest,
    detail,
  } as const
  try {
    await audit.append([auditEntry(now, entry)])
    await registry.remove(repository, digest)
    return true
  } catch (error) {
    if (!isRegistryError(error, 'Refused')) throw error
    return false
  }
}

type GroupPass = Pass<typeof ResourceGroup>

/** Milliseconds until an unreachable registry is asked again. */
const RETRY_INTERVAL_MS = 60_000

/**
 * Removes the images of a group that is being deleted, but those that are pinned or that something else uses: whoever may
 * read a later group of the same name would read them. What is pushed at this moment with an earlier token, or what the
 * registry does not remove, is left to retention.
 */
export const removeGroupImages = (port: RegistryPort | undefined) =>
  async function removeImages(pass: GroupPass): Promise<Outcome> {
    const { boundaryId } = pass.scope
    if (port === undefined || boundaryId === undefined) return done()
    try {
      const own = await port.registry.repositories(`${boundaryId}/${pass.object.metadata.name}`)
      if (own.length === 0) return done()
      const facts = { usesOf: await port.uses(), busy: new Set<string>(), keepsUnknown: false }
      for (const repository of own) await removeImagesOf(pass, port, repository, facts).catch(unlessUnreadable)
    } catch (error) {
      if (!isRegistryError(error)) throw error
      return waiting('TearingDown', `Its images are not removed yet: ${error.message}`, RETRY_INTERVAL_MS)
    }
    return done()
  }

/** A repository that cannot be read is left as it is, as by retention: it must hold up neither the others nor the group. */
function unlessUnreadable(error: unknown): void {
  if (!isRegistryError(error, 'Unreadable')) throw error
}

async function removeImagesOf(pass: GroupPass, port: RegistryPort, repository: string, facts: Facts): Promise<void> {
  const { object, records, clock } = pass
  const cause = {
    id: `group/${object.metadata.uid}`,
    detail: `deletion of group ${object.metadata.name}`,
    now: clock.now(),
  }
  for (const one of await planRepositoryRemovals(pass, port, repository, facts)) await removeManifest(port, one, cause)
  const known = records.cache(RegistryRepository).get(object.metadata.namespace, repositoryObjectName(repository))
  if (known !== undefined) await records.client.remove(RegistryRepository.resource, refOf(known))
}
