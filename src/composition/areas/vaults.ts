import { noKeys, openKeyFile } from '../../adapters/platformkeys/file.ts'
import type { PlatformKeys } from '../../adapters/platformkeys/port.ts'
import type { Services } from '../../api/http/context.ts'
import { kubeValues } from '../../api/vaults/values.ts'
import type { ControllerPorts } from '../../controllers/index.ts'
import { systemClock } from '../../core/clock.ts'
import type { AreaSetup, FacadeSetup } from './setup.ts'

export async function vaultServices(setup: FacadeSetup): Promise<Pick<Services, 'vaults'>> {
  return { vaults: { keys: await platformKeys(setup), values: kubeValues(setup.client), baseUrl: setup.linkBase } }
}

export async function vaultPorts(setup: AreaSetup): Promise<Pick<ControllerPorts, 'vaultKeys'>> {
  return { vaultKeys: await platformKeys(setup) }
}

/** Opens the platform keys of secret vaults; empty if none are configured. */
async function platformKeys({ configuration, log, onStop }: AreaSetup): Promise<PlatformKeys> {
  const { vaultKeysFile } = configuration
  if (vaultKeysFile === undefined) return noKeys()
  const keys = await openKeyFile(vaultKeysFile, { clock: systemClock, log })
  onStop(() => keys.stop())
  return keys
}
