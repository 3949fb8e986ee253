import { secretBlobs } from '../../adapters/blobs/secrets.ts'
import type { Services } from '../../api/http/context.ts'
import type { FacadeSetup } from './setup.ts'

/** Where sources are kept. */
export function functionServices({ client }: Pick<FacadeSetup, 'client'>): Pick<Services, 'functions'> {
  return { functions: { blobs: secretBlobs(client) } }
}
