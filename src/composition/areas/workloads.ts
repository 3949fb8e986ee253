import type { Services } from '../../api/http/context.ts'
import { createStorage } from '../../api/resources/storage.ts'
import type { FacadeSetup } from './setup.ts'

/** What is seen of workloads beside their objects. */
export function workloadServices({ caches }: FacadeSetup): Pick<Services, 'storage'> {
  return { storage: createStorage(caches) }
}
