import type { PlatformKeys } from '../../adapters/platformkeys/port.ts'
import { EnvelopeError, openValue, unwrapDataKey } from '../../contracts/vaults/envelope.ts'
import { currentVersion } from '../../contracts/vaults/history.ts'
import { keyContext, valueContext, valueNames } from '../../contracts/vaults/names.ts'
import { jweOf } from '../../contracts/vaults/valueSecret.ts'
import { type Outcome, stalled } from '../../core/outcome.ts'
import type { VaultEntry } from '../../crds/vaults.ts'
import { isKubeError } from '../../kube/errors.ts'
import type { Workspace } from '../engine/controller.ts'
import { readSecret, rightsMissing } from '../workload/secrets.ts'

/**
 * The value of a version, the newest if none is named; undefined if it or its key is gone.
 *
 * @throws EnvelopeError if no platform key opens it; KubeError Forbidden if the rights on Secrets are not there yet
 */
export async function openVersion(
  workloads: Workspace,
  { metadata, spec }: Pick<VaultEntry, 'metadata' | 'spec'>,
  keys: PlatformKeys,
  version = currentVersion(spec),
): Promise<string | undefined> {
  const { namespace = '', name } = metadata
  const life = spec.history?.life ?? 1
  const names = valueNames(name, life)
  const sealed = jweOf((await readSecret({ workloads }, namespace, names.version(version)))?.data)
  const wrapped = jweOf((await readSecret({ workloads }, namespace, names.key))?.data)
  if (sealed === undefined || wrapped === undefined) return undefined
  const dataKey = await unwrapDataKey(wrapped, keys, keyContext(namespace, name, life))
  return openValue(sealed, dataKey, valueContext(namespace, name, life, version))
}

/** The outcome of a step that could not open a value, for want of a key or of rights. @throws whatever else it was */
export function outcomeOfEnvelope(error: unknown): Outcome {
  if (isKubeError(error, 'Forbidden')) return rightsMissing()
  if (!(error instanceof EnvelopeError)) throw error
  if (error.fault === 'NoPlatformKey')
    return stalled('ConfigurationInvalid', 'No platform key is configured: set PLATFORM_VAULT_KEYS_FILE.')
  if (error.fault === 'UnknownPlatformKey')
    return stalled('ConfigurationInvalid', `The platform key "${error.keyId}" is no longer configured.`)
  return stalled('ConfigurationInvalid', 'A stored key or value was altered or belongs elsewhere.')
}
