import {
  currentVersion,
  forgetTime,
  hasNoValueYet,
  isEntryPurged,
  lastValidityChange,
  nextValidityChange,
  purgeTime,
  withPurge,
} from '../../contracts/vaults/history.ts'
import { entryName } from '../../contracts/vaults/names.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { SecretVault, type VaultEntry } from '../../crds/vaults.ts'
import { removeSecrets } from './secrets.ts'
import {
  type CachedVault,
  doneWithRequeueAt,
  type EntryPass,
  entryOf,
  refOfEntry,
  vaultOf,
  writeSpec,
} from './types.ts'

/** Finds the vault, and checks that the object has the name that its secret requires. */
export function findVault(pass: EntryPass): Outcome {
  const { namespace, name } = refOfEntry(pass)
  const { vaultName, secretName } = pass.object.spec
  const wanted = entryName(vaultName, secretName)
  if (name !== wanted) {
    return stalled(
      'ConfigurationInvalid',
      `The object of secret "${secretName}" of vault "${vaultName}" must be named "${wanted}".`,
    )
  }
  const vault = pass.records.cache(SecretVault).get(namespace, vaultName)
  if (vault === undefined) return stalled('ReferenceMissing', `There is no vault "${vaultName}" in this group.`)
  if (hasLostName(vault))
    return stalled('NameOccupied', `Vault "${vaultName}" cannot hold secrets: ${vault.status?.statusMessage ?? ''}`)
  if (!isUsable(vault)) return waiting('WaitingForDependency', `Vault "${vaultName}" is not ready yet.`)
  pass.state.vault = vault
  return done()
}

const hasLostName = ({ status }: CachedVault) => status?.phase === 'NameOccupied'

/** Whether a vault can hold secrets. A vault that was ready remains usable unless it lost its name. */
export function isUsable(vault: CachedVault): boolean {
  return vault.status?.firstReadyAt !== undefined && !hasLostName(vault)
}

/** Milliseconds until an entry that REST never filled is deleted; REST fills it much sooner, or never. */
const UNFILLED_TTL_MS = 3_600_000

/**
 * Deletes an entry left by an interrupted write of REST, which REST shows to nobody. An entry made with kubectl has no
 * history, or names the source of its value.
 */
export async function removeUnfilled(pass: EntryPass): Promise<Outcome> {
  const { spec, metadata } = entryOf(pass)
  const { history, valueFrom } = spec
  if (history === undefined || !hasNoValueYet(spec) || valueFrom !== undefined) return done()
  const expiresAt = Date.parse(metadata.creationTimestamp ?? pass.now) + UNFILLED_TTL_MS
  if (pass.clock.now() < expiresAt) return doneWithRequeueAt(pass, expiresAt)
  const { uid, resourceVersion } = metadata
  await pass.records.client.remove(pass.kind.resource, refOfEntry(pass), { uid, resourceVersion })
  return waiting('TearingDown', 'It never got a value.')
}

/** Copies the vault's settings that rules of the entry need. */
export async function copyVaultSettings(pass: EntryPass): Promise<Outcome> {
  const { spec } = entryOf(pass)
  const { softDeleteEnabled: softDelete, enablePurgeProtection: purgeProtection } = vaultOf(pass).spec
  const { history, state } = spec
  if (history === undefined || state === 'Purged') return done()
  if (history.softDelete === softDelete && history.purgeProtection === purgeProtection) return done()
  await writeSpec(pass, { history: { softDelete, purgeProtection } })
  return done()
}

/** Sets the times for a `state` set with kubectl. Only the controller sets times, so that none can be invented. */
export async function stampState(pass: EntryPass): Promise<Outcome> {
  const { spec } = entryOf(pass)
  const { history, state } = spec
  if (history === undefined) return done()
  if (state === 'Deleted' && history.deletedAt === undefined) {
    await writeSpec(pass, { history: { deletedAt: pass.now, updatedAt: pass.now } })
  } else if (state === 'Active' && history.deletedAt !== undefined) {
    await writeSpec(pass, { history: { deletedAt: null, updatedAt: pass.now } })
  } else if (state === 'Purged' && history.purgedAt === undefined) {
    await writePurge(pass)
  }
  return done()
}

async function writePurge(pass: EntryPass): Promise<void> {
  const { spec } = entryOf(pass)
  const { history } = withPurge(spec, { at: pass.now })
  const cleared = { createdAt: null, deletedAt: null }
  await writeSpec(pass, {
    state: 'Purged',
    enabled: true,
    contentType: null,
    notBefore: null,
    expiresOn: null,
    tags: Object.fromEntries(Object.keys(spec.tags).map((key) => [key, null])),
    history: history === undefined ? null : { ...cleared, ...history },
  })
}

/** Purges a deleted secret when its time is over, and finally deletes the record of a purged one. */
export async function purgeWhenDue(pass: EntryPass): Promise<Outcome> {
  const rules = vaultOf(pass).spec
  const isOver = (time: string | undefined) => time !== undefined && pass.clock.now() >= Date.parse(time)
  if (isOver(purgeTime(entryOf(pass).spec, rules))) await writePurge(pass)
  const { spec, metadata } = entryOf(pass)
  const [purgeAt, forgetAt] = [purgeTime(spec, rules), forgetTime(spec, rules)]
  pass.report({ purgeAt })
  const next = purgeAt ?? forgetAt
  if (next === undefined) return done()
  if (!isOver(forgetAt)) return doneWithRequeueAt(pass, Date.parse(next))
  const { uid, resourceVersion } = metadata
  await pass.records.client.remove(pass.kind.resource, refOfEntry(pass), { uid, resourceVersion })
  return done()
}

/** Reports when the value becomes valid or expires, which wakes its readers. */
export function reportValidity(pass: EntryPass): Outcome {
  const entry = entryOf(pass)
  const now = pass.clock.now()
  const { state, history } = entry.spec
  const all = state === 'Active' ? [entry.spec, ...(history?.versions ?? [])] : []
  pass.report({ validityChangedAt: lastValidityChange(entry, now) })
  return doneWithRequeueAt(pass, ...all.map((each) => nextValidityChange(each, now)))
}

/** Deletes the Secrets of purged lives: the data key first, then the values in one call. */
export async function removePurged(pass: EntryPass): Promise<Outcome> {
  const { spec } = entryOf(pass)
  const { history } = spec
  if (history === undefined) return done()
  const endedLife = isEntryPurged(spec) ? history.life : history.life - 1
  const known = pass.object.status?.purgedLife ?? 0
  for (let life = known + 1; life <= endedLife; life += 1) {
    const refusal = await removeSecrets(pass, life)
    if (refusal !== undefined) return refusal
  }
  pass.report({ purgedLife: endedLife })
  return done()
}

export function reportEntry(pass: EntryPass): Outcome {
  const { spec } = entryOf(pass)
  const versions = spec.history?.versions ?? []
  pass.report({ version: versions.length === 0 ? undefined : currentVersion(spec), versionCount: versions.length })
  pass.serving(spec.state === 'Active' && versions.length > 0)
  return pass.state.deferredFailure ?? entryOutcome(spec)
}

function entryOutcome({ state, history }: VaultEntry['spec']): Outcome {
  if (state !== 'Active') return done({ message: `The secret is ${state.toLowerCase()}.` })
  if ((history?.versions ?? []).length > 0) return done({ message: '' })
  return waiting(
    'WaitingForDependency',
    'It has no value yet: name a Secret in valueFrom, or set the value through REST.',
  )
}
