import { secretBlobs } from '../../adapters/blobs/secrets.ts'
import { createCallFiguresClient } from '../../adapters/calls/client.ts'
import { sameProcessCallFigures } from '../../adapters/calls/sameProcess.ts'
import type { Services } from '../../api/http/context.ts'
import type { FacadeSetup } from './setup.ts'

type FunctionSetup = Pick<FacadeSetup, 'client' | 'configuration' | 'log' | 'figuresHere'>

/** Where sources are kept, and who counts calls. */
export function functionServices({
  client,
  configuration,
  log,
  figuresHere,
}: FunctionSetup): Pick<Services, 'functions'> {
  const { role, figuresUrl: url } = configuration
  const calls =
    role === 'all' ? sameProcessCallFigures(() => figuresHere.figures) : createCallFiguresClient({ url, log })
  return { functions: { blobs: secretBlobs(client), calls } }
}
