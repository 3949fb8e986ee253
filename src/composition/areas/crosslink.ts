import { createCrosslinkReports } from '../../api/crosslink/reports.ts'
import type { Services } from '../../api/http/context.ts'
import { kubeSecrets, kubeSecretWriter } from '../../api/records/secrets.ts'
import type { ControllerPorts } from '../../controllers/index.ts'
import type { AreaSetup } from './setup.ts'

export function crosslinkServices({ client }: AreaSetup): Pick<Services, 'crosslink'> {
  const secrets = { ...kubeSecrets(client), ...kubeSecretWriter(client) }
  return { crosslink: { reports: createCrosslinkReports(client), secrets } }
}

export function crosslinkPorts(): Pick<ControllerPorts, 'crosslink'> {
  return {
    crosslink: {
      // Loads the library only where an authority is created.
      createAuthority: async (...given) => (await import('../certificates.ts')).createAuthority(...given),
    },
  }
}
