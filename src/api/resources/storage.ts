import { hasSharedVolumes } from '../../contracts/workloads.ts'
import type { KubeObject, Resource } from '../../core/object.ts'
import { storageClass } from '../../kube/builtin.ts'
import type { WatchCache } from '../../kube/cache.ts'

/** What is known of the storage of the platform's own cluster. */
export interface Storage {
  /** Whether pods on several nodes can mount one volume of this class; of the default one if none is named. */
  isShared(className: string | undefined): boolean
}

declare module '../http/context.ts' {
  interface Services {
    readonly storage: Storage
  }
}

type Caches = { has(resource: Resource): boolean; get(resource: Resource): Pick<WatchCache<KubeObject>, 'list'> }

/** The administrator says it by a label, as Kubernetes does not say it of a class. */
export function createStorage(caches: Caches): Storage {
  return {
    isShared(className) {
      const classes = caches.has(storageClass) ? caches.get(storageClass).list() : []
      return hasSharedVolumes(classes, className)
    },
  }
}
