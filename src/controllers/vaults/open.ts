import type { PlatformKeys } from '../../adapters/platformkeys/port.ts'
import type { VaultReference } from '../../contracts/references.ts'
import { EnvelopeError, openValue, unwrapDataKey } from '../../contracts/vaults/envelope.ts'
import { currentVersion, isEntryActive, readRefusal } from '../../contracts/vaults/history.ts'
import { entryName, keyContext, valueContext, valueNames } from '../../contracts/vaults/names.ts'
import { decodeJwe } from '../../contracts/vaults/valueSecret.ts'
import type { KubeObject, ObjectMeta } from '../../core/object.ts'
import { type Outcome, stalled } from '../../core/outcome.ts'
import { SecretVault, VaultEntry } from '../../crds/vaults.ts'
import { isKubeError } from '../../kube/errors.ts'
import type { Pass, Workspace } from '../engine/controller.ts'
import { refOfPass } from '../workload/pass.ts'
import { readSecret, rightsMissing } from '../workload/secrets.ts'

/**
 * Returns the value of a version, by default the newest; undefined if the value or its key is gone.
 *
 * @throws EnvelopeError if no platform key opens it; KubeError Forbidden while the rights on Secrets are missing
 */
export async function openVersion(
  records: Workspace,
  { metadata, spec }: Pick<VaultEntry, 'metadata' | 'spec'>,
  keys: PlatformKeys,
  version = currentVersion(spec),
): Promise<string | undefined> {
  const { namespace = '', name } = metadata
  const life = spec.history?.life ?? 1
  const names = valueNames(name, life)
  const sealed = decodeJwe((await readSecret({ workloads: records }, namespace, names.version(version)))?.data)
  const wrapped = decodeJwe((await readSecret({ workloads: records }, namespace, names.key))?.data)
  if (sealed === undefined || wrapped === undefined) return undefined
  const dataKey = await unwrapDataKey(wrapped, keys, keyContext(namespace, name, life))
  return openValue(sealed, dataKey, valueContext(namespace, name, life, version))
}

type ReaderPass = Pick<Pass, 'records' | 'clock'> & { object: { metadata: ObjectMeta } }

/** Returns the entry of a reference, or why its value may not be read now. */
function findReadableEntry(
  pass: ReaderPass,
  { vaultName, secretName, version }: VaultReference,
): CachedEntry | Outcome {
  const { namespace } = refOfPass(pass)
  const entry = pass.records.cache(VaultEntry).get(namespace, entryName(vaultName, secretName))
  const subject = `Secret "${secretName}" of vault "${vaultName}"`
  if (pass.records.cache(SecretVault).get(namespace, vaultName) === undefined)
    return stalled('ReferenceMissing', `There is no vault "${vaultName}" in this group.`)
  if (entry === undefined || !isEntryActive(entry)) return stalled('ReferenceMissing', `${subject} does not exist.`)
  const refusal = readRefusal(entry, version ?? currentVersion(entry.spec), pass.clock.now())
  return refusal === undefined ? entry : stalled('ReferenceMissing', `${subject} cannot be read now: ${refusal}.`)
}

/** Whether the value of a reference may be read now. Decrypts nothing. */
export function mayReadVault(pass: ReaderPass, reference: VaultReference): boolean {
  return 'spec' in findReadableEntry(pass, reference)
}

/** Returns the value of a vault secret, or why there is none. The reference's author was checked for this right. */
export async function vaultValue(
  pass: ReaderPass,
  reference: VaultReference,
  keys: PlatformKeys,
): Promise<string | Outcome> {
  const entry = findReadableEntry(pass, reference)
  if (!('spec' in entry)) return entry
  const { vaultName, secretName, version } = reference
  const value = await openVersion(pass.records, entry, keys, version).catch(outcomeOfEnvelopeError)
  return value ?? stalled('ReferenceMissing', `Secret "${secretName}" of vault "${vaultName}" no longer has a value.`)
}

type CachedEntry = VaultEntry & KubeObject

/** Converts an error about missing keys or rights to an outcome. @throws any other error */
export function outcomeOfEnvelopeError(error: unknown): Outcome {
  if (isKubeError(error, 'Forbidden')) return rightsMissing()
  if (!(error instanceof EnvelopeError)) throw error
  if (error.fault === 'NoPlatformKey')
    return stalled('ConfigurationInvalid', 'No platform key is configured: set PLATFORM_VAULT_KEYS_FILE.')
  if (error.fault === 'UnknownPlatformKey')
    return stalled('ConfigurationInvalid', `The platform key "${error.keyId}" is no longer configured.`)
  return stalled('ConfigurationInvalid', 'A stored key or value was altered or belongs elsewhere.')
}
