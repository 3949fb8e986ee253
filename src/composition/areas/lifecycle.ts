import { createReleaseFeed } from '../../adapters/releases/client.ts'
import { mirrorFetch } from '../../adapters/releases/mirror.ts'
import type { ReleaseFeed } from '../../adapters/releases/port.ts'
import type { Services } from '../../api/http/context.ts'
import { kubeInstallConfiguration } from '../../api/lifecycle/configuration.ts'
import type { ControllerPorts } from '../../controllers/index.ts'
import { VERSION } from '../../core/release.ts'
import { openOutgoing } from '../outgoing.ts'
import type { AreaSetup } from './setup.ts'

/** Lists of tags can be long. */
const MAX_BYTES = 4 * 1024 * 1024

export function lifecycleServices({ client }: AreaSetup): Pick<Services, 'lifecycle'> {
  return { lifecycle: { configuration: kubeInstallConfiguration(client) } }
}

export function lifecyclePorts(setup: AreaSetup): Pick<ControllerPorts, 'lifecycle'> {
  const { releaseFeedMinutes: minutes, healthSettleSeconds } = setup.configuration
  return {
    lifecycle: {
      feed: releaseFeed(setup),
      feedInterval: minutes === 0 ? undefined : minutes * 60_000,
      healthSettle: healthSettleSeconds * 1000,
      ownVersion: VERSION,
    },
  }
}

function releaseFeed({ configuration, onStop }: AreaSetup): ReleaseFeed {
  const { chartRegistryUrl: url } = configuration
  const outgoing = openOutgoing(configuration, { maxBytes: MAX_BYTES })
  onStop(() => outgoing.close())
  return createReleaseFeed({
    fetch: outgoing.fetch,
    mirror: url === undefined ? undefined : { url, fetch: mirrorFetch },
  })
}
