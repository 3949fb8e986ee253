import type { TargetAccess } from '../../adapters/backuptarget/port.ts'
import { type BackupLocation, selectBackupLocation } from '../../contracts/backups.ts'
import { TARGET_SECRET_KEYS } from '../../contracts/platformbackups/names.ts'
import { isRolloutActive } from '../../contracts/rollouts/states.ts'
import { OWNER_KIND_LABEL } from '../../core/labels.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { type SecretData, type SecretObject, secretText } from '../../core/secretData.ts'
import { type BackupTarget, PlatformBackupSettings } from '../../crds/platformBackups.ts'
import { RolloutExecution } from '../../crds/rollouts.ts'
import { type TargetKey, targetLocation, targetSecret } from '../../desired/platformbackups.ts'
import { secret } from '../../kube/builtin.ts'
import { firstDifference } from '../../kube/compare.ts'
import { veleroBackupStorageLocation } from '../../kube/velero.ts'
import { StalledError } from '../engine/interruptions.ts'
import { readSecret } from '../workload/secrets.ts'
import type { PlatformBackupOptions, SettingsPass } from './types.ts'

/** Milliseconds until a missing Secret is looked for again: the operator may read it but not watch it. */
const SECRET_RETRY_MS = 30_000
/** Milliseconds until a refused target is tested again: a bucket or permission may have been added. */
const TARGET_RETRY_MS = 300_000

/**
 * Makes Velero write to the configured target. A target is tested before Velero's objects change, so that a typing
 * error does not replace a working target.
 */
export async function applyTarget(pass: SettingsPass, options: PlatformBackupOptions): Promise<Outcome> {
  const { target } = pass.object.spec
  if (target === undefined) return done()
  const { velero, targets } = options
  const key = await keyOf(pass, target)
  if (key === undefined) {
    const message = `Secret "${target.secretName}" with ${TARGET_SECRET_KEYS.id} and ${TARGET_SECRET_KEYS.secret} is not in ${SYSTEM_NAMESPACE}.`
    return waiting('WaitingForDependency', message, SECRET_RETRY_MS)
  }
  const location = targetLocation(target, { velero, name: locationName(pass, velero) })
  const copy = targetSecret(key, target, velero)
  const [held, stored] = [
    pass.workloads.cache<BackupLocation>(veleroBackupStorageLocation).get(velero, location.metadata.name),
    await readSecret(pass, velero, copy.metadata.name),
  ]
  const isCopied = sameData(stored, copy)
  if (isCopied && held !== undefined && firstDifference(location.spec, held.spec) === undefined) {
    await pass.children.ensure(location, { resource: veleroBackupStorageLocation, adopts: () => true })
    return done()
  }
  if (isInRollout(pass))
    return waiting('WaitingForDependency', 'A rollout is running; the target is applied when it has ended.')
  const result = await targets.test(accessOf(target, key))
  if (result.code !== 'Ok')
    return stalled(
      'ConfigurationInvalid',
      `The target was refused (${result.code}). ${result.message}`,
      TARGET_RETRY_MS,
    )
  // Write the key first, because the location refers to it.
  if (!isCopied) await writeCopy(pass, copy, stored)
  await pass.children.ensure(location, { resource: veleroBackupStorageLocation, adopts: () => true })
  return done()
}

/** Whether a rollout is in progress, whose snapshot must stay on its target. */
function isInRollout({ records }: SettingsPass): boolean {
  const rollouts = records.cache(RolloutExecution).list()
  return rollouts.some(({ status }) => isRolloutActive(status?.state))
}

function accessOf(target: BackupTarget, key: TargetKey): TargetAccess {
  const { provider: _provider, secretName: _secretName, ...rest } = target
  return { ...rest, ...key }
}

/** Returns the name of our location, otherwise of Velero's current default, which stays the default. */
function locationName(pass: SettingsPass, velero: string): string {
  const [own] = pass.children.owned(veleroBackupStorageLocation)
  const locations = pass.workloads.cache<BackupLocation>(veleroBackupStorageLocation).list({ namespace: velero })
  return (own ?? selectBackupLocation(locations))?.metadata.name ?? 'default'
}

async function keyOf({ records }: SettingsPass, { secretName }: BackupTarget): Promise<TargetKey | undefined> {
  const data = (await readSecret({ workloads: records }, SYSTEM_NAMESPACE, secretName))?.data
  const text = (entry: string) => secretText(data, entry) ?? ''
  const [accessKeyId, secretAccessKey] = [text(TARGET_SECRET_KEYS.id), text(TARGET_SECRET_KEYS.secret)]
  // The values become lines of a file, so a line break would inject settings.
  const isKey = (value: string) => /^[!-~]{1,1024}$/.test(value)
  return isKey(accessKeyId) && isKey(secretAccessKey) ? { accessKeyId, secretAccessKey } : undefined
}

function sameData(stored: SecretObject | undefined, { data }: { data: SecretData }): boolean {
  const entries = Object.entries(stored?.data ?? {})
  return entries.length === Object.keys(data).length && entries.every(([name, value]) => data[name] === value)
}

/** Writes without a cache: the operator may write this one Secret there, but not watch it. */
async function writeCopy(pass: SettingsPass, copy: ReturnType<typeof targetSecret>, stored: SecretObject | undefined) {
  if (stored !== undefined && stored.metadata.labels?.[OWNER_KIND_LABEL] !== PlatformBackupSettings.kind) {
    const { namespace, name } = copy.metadata
    throw new StalledError('NameOccupied', `Secret "${namespace}/${name}" exists and does not belong to the platform.`)
  }
  await pass.workloads.client.apply(secret, copy, { force: true })
}
