import { secretBlobs } from '../../adapters/blobs/secrets.ts'
import { createCallsClient } from '../../adapters/calls/client.ts'
import { sameProcessCalls } from '../../adapters/calls/sameProcess.ts'
import type { Services } from '../../api/http/context.ts'
import type { FacadeSetup } from './setup.ts'

type FunctionSetup = Pick<FacadeSetup, 'client' | 'configuration' | 'log' | 'activatorHere'>

/** Provides the stores of sources, and access to the activator. */
export function functionServices({
  client,
  configuration,
  log,
  activatorHere,
}: FunctionSetup): Pick<Services, 'functions'> {
  const { role, figuresUrl: url } = configuration
  const calls = role === 'all' ? sameProcessCalls(() => activatorHere.calls) : createCallsClient({ url, log })
  return { functions: { blobs: secretBlobs(client), calls } }
}
