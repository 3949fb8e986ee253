import { sharedVolumeObstacle } from '../../contracts/containerinstances.ts'
import { hasSharedVolumes } from '../../contracts/workloads.ts'
import { PlatformError } from '../../core/errors.ts'
import { storageClass } from '../../kube/builtin.ts'
import type { Services } from '../http/context.ts'
import { otherClusterOf } from './find.ts'
import type { Caches } from './liveState.ts'

/** The storage of the platform's own cluster. */
export interface Storage {
  /** Whether pods on several nodes can mount one volume of this class; of the default one if none is named. */
  isShared(className: string | undefined): boolean
}

declare module '../http/context.ts' {
  interface Services {
    readonly storage: Storage
  }
}

/** Administrators label the classes with shareable volumes, because Kubernetes does not tell. */
export function createStorage(caches: Caches): Storage {
  return {
    isShared(className) {
      const classes = caches.has(storageClass) ? caches.get(storageClass).list() : []
      return hasSharedVolumes(classes, className)
    },
  }
}

/**
 * Refuses volumes that several pods would mount although only one can.
 *
 * @throws PlatformError VOLUME_NOT_SHAREABLE
 */
export function refuseUnshared(
  draft: { clusterId?: string | undefined } & Parameters<typeof sharedVolumeObstacle>[0],
  services: Pick<Services, 'records' | 'storage'>,
): void {
  // For another cluster, its controller reports this: only the controller sees the storage there.
  if (otherClusterOf(services, draft.clusterId) !== undefined) return
  const found = sharedVolumeObstacle(draft, (storageClass) => services.storage.isShared(storageClass))
  if (found === undefined) return
  throw new PlatformError('VOLUME_NOT_SHAREABLE', found.message, { field: 'volumes', value: found.volume })
}
