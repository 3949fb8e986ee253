import type { Services } from '../../api/http/context.ts'
import { createLiveState } from '../../api/resources/liveState.ts'
import { createStorage } from '../../api/resources/storage.ts'
import type { FacadeSetup } from './setup.ts'

/** What is seen of workloads beside their objects. */
export function workloadServices({ client, caches }: FacadeSetup): Pick<Services, 'storage' | 'live'> {
  return { storage: createStorage(caches), live: createLiveState({ client, caches }) }
}
