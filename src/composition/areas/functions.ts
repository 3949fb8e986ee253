import { secretBlobs } from '../../adapters/blobs/secrets.ts'
import { createActivatorClient } from '../../adapters/calls/client.ts'
import { localActivatorClient } from '../../adapters/calls/localActivator.ts'
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
  const calls = role === 'all' ? localActivatorClient(() => activatorHere.calls) : createActivatorClient({ url, log })
  return { functions: { blobs: secretBlobs(client), calls } }
}
