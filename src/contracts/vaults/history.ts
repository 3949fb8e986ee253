/** Versions and states of one secret (interface section 3, records of secret vaults). Pure: time is an argument. */

export const VERSIONS_KEPT = 100
export const VALUE_MAX_BYTES = 65_536
const DAY = 86_400_000

export const ENTRY_STATES = ['Active', 'Deleted', 'Purged'] as const
/**
 * Active --DELETE--> Deleted --recover--> Active
 *                    Deleted --purge----> Purged: the data key is gone; a later write begins a new life
 * Where the vault has no soft delete, DELETE leads from Active to Purged.
 */
export type EntryState = (typeof ENTRY_STATES)[number]

export type Attributes = {
  contentType?: string | undefined
  enabled: boolean
  notBefore?: string | undefined
  expiresOn?: string | undefined
}

export type VersionRecord = Attributes & { version: number; createdAt: string; createdBy?: string | undefined }

/** What the platform itself keeps about a secret; nobody else may write it. */
export type History = {
  /** Grows with each purge. Names of keys and values hold it. */
  life: number
  /** The highest version that was ever given: numbers are not given twice, not even after a purge. */
  lastVersion: number
  /** Ascending. */
  versions: VersionRecord[]
  /** Of the vault, so that rules over the secret alone can speak of them. */
  softDelete: boolean
  purgeProtection: boolean
  /** Written by the platform, not by people. */
  isManaged: boolean
  createdAt?: string | undefined
  updatedAt?: string | undefined
  updatedBy?: string | undefined
  deletedAt?: string | undefined
  purgedAt?: string | undefined
  /** The Secret of valueFrom, as it was when its value was last looked at, and the version that has this value. */
  source?: Source | undefined
}

export type Source = { secretName: string; key: string; uid: string; resourceVersion: string; version: number }

export type EntrySpec = Attributes & {
  vaultName: string
  secretName: string
  tags: Record<string, string>
  state: EntryState
  history?: History | undefined
}

export type VaultRules = {
  softDeleteEnabled: boolean
  softDeleteRetentionDays: number
  enablePurgeProtection: boolean
}

/** Who does something, and when (RFC 3339). */
export type Deed = { at: string; by?: string | undefined }

export function newHistory(rules: VaultRules): History {
  return {
    life: 1,
    lastVersion: 0,
    versions: [],
    softDelete: rules.softDeleteEnabled,
    purgeProtection: rules.enablePurgeProtection,
    isManaged: false,
  }
}

type Dated = { metadata: { deletionTimestamp?: string | undefined }; spec: EntrySpec }

/** Whether anybody may know of it: it has a version, and is neither purged nor about to be removed. */
export function isKnown({ metadata, spec }: Dated): boolean {
  return metadata.deletionTimestamp === undefined && spec.state !== 'Purged' && (spec.history?.versions.length ?? 0) > 0
}

export function isLive(entry: Dated): boolean {
  return isKnown(entry) && entry.spec.state === 'Active'
}

export function currentVersion(spec: EntrySpec): number {
  return spec.history?.versions.at(-1)?.version ?? 0
}

/** Ascending. The newest has the attributes of the secret itself, which may have been changed since it was written. */
export function versionsOf(spec: EntrySpec): VersionRecord[] {
  const versions = spec.history?.versions ?? []
  return versions.map((record, index) =>
    index === versions.length - 1 ? { ...record, ...attributesOf(spec) } : record,
  )
}

export function attributesOf({ contentType, enabled, notBefore, expiresOn }: Attributes): Attributes {
  return { contentType, enabled, notBefore, expiresOn }
}

/** Never had a value: people see it with kubectl only, and there is nothing in it to recover or to purge. */
export function isUnfilled({ history }: EntrySpec): boolean {
  return (history?.lastVersion ?? 0) === 0
}

/** Purged, and without a value since: also where somebody has called it active again already. */
export function isEmptied({ history }: EntrySpec): boolean {
  return history?.purgedAt !== undefined
}

/** The life that the next value is written in: a new one after a purge. */
export function lifeOfNextValue(spec: EntrySpec): number {
  return (spec.history?.life ?? 1) + (isEmptied(spec) ? 1 : 0)
}

export type NewVersion = Deed & Attributes & { version: number; tags?: Record<string, string> | undefined }

/**
 * The spec with one version more. Of two writers at once the slower one may have the smaller number: its version is put
 * in its place, and the attributes of the secret stay those of the newest.
 */
export function withVersion<Spec extends EntrySpec>(spec: Spec, added: NewVersion, rules: VaultRules): Spec {
  const begins = isEmptied(spec)
  const before = spec.history ?? newHistory(rules)
  const kept = begins ? [] : versionsOf(spec)
  const record: VersionRecord = {
    version: added.version,
    ...attributesOf(added),
    createdAt: added.at,
    createdBy: added.by,
  }
  const versions = [...kept.filter(({ version }) => version !== added.version), record]
    .sort((one, other) => one.version - other.version)
    .slice(-VERSIONS_KEPT)
  const isNewest = versions.at(-1) === record
  const history: History = {
    ...before,
    life: lifeOfNextValue(spec),
    lastVersion: Math.max(before.lastVersion, added.version),
    versions,
    softDelete: rules.softDeleteEnabled,
    purgeProtection: rules.enablePurgeProtection,
    createdAt: begins ? added.at : (before.createdAt ?? added.at),
    updatedAt: added.at,
    updatedBy: added.by,
    deletedAt: undefined,
    purgedAt: undefined,
  }
  if (!isNewest) return { ...spec, state: 'Active', history }
  return { ...spec, ...attributesOf(added), tags: added.tags ?? spec.tags, state: 'Active', history }
}

export function withDeletion<Spec extends EntrySpec>(spec: Spec, { at, by }: Deed): Spec {
  const { history } = spec
  if (history === undefined) return { ...spec, state: 'Deleted' }
  return { ...spec, state: 'Deleted', history: { ...history, deletedAt: at, updatedAt: at, updatedBy: by } }
}

export function withRecovery<Spec extends EntrySpec>(spec: Spec, { at, by }: Deed): Spec {
  const { history } = spec
  if (history === undefined) return { ...spec, state: 'Active' }
  return { ...spec, state: 'Active', history: { ...history, deletedAt: undefined, updatedAt: at, updatedBy: by } }
}

/** Nothing but the numbers is left; the data key goes with the Secrets of this life. */
export function withPurge<Spec extends EntrySpec>(spec: Spec, { at, by }: Deed): Spec {
  const { contentType: _type, notBefore: _from, expiresOn: _until, history, ...rest } = spec
  const emptied = { ...rest, enabled: true, tags: {}, state: 'Purged' as const }
  if (history === undefined) return emptied as unknown as Spec
  return {
    ...emptied,
    history: {
      life: history.life,
      lastVersion: history.lastVersion,
      versions: [],
      softDelete: history.softDelete,
      // The time of protection is over, or there was none: else nobody comes here.
      purgeProtection: false,
      isManaged: false,
      // A value set later stands, although the source is still there.
      source: history.source,
      updatedAt: at,
      updatedBy: by,
      purgedAt: at,
    },
  } as unknown as Spec
}

const later = (time: string, days: number) => new Date(Date.parse(time) + days * DAY).toISOString().replace('.000', '')

/** When a deleted secret is purged by itself, and may be purged under protection; undefined for one that is not deleted. */
export function purgeTime(spec: EntrySpec, rules: VaultRules): string | undefined {
  const deletedAt = spec.history?.deletedAt
  return spec.state === 'Deleted' && deletedAt !== undefined
    ? later(deletedAt, rules.softDeleteRetentionDays)
    : undefined
}

/** Until when the numbers of a purged secret are remembered. */
export function forgetTime(spec: EntrySpec, rules: VaultRules): string | undefined {
  const purgedAt = spec.history?.purgedAt
  return spec.state === 'Purged' && purgedAt !== undefined ? later(purgedAt, rules.softDeleteRetentionDays) : undefined
}

export type ReadRefusal = 'Missing' | 'Disabled' | 'NotYetValid' | 'Expired'

/** Why the value of a version may not be read now; the secret's own attributes hold for all of its versions. */
export function readRefusal(entry: Dated, version: number, now: number): ReadRefusal | undefined {
  const record = versionsOf(entry.spec).find((each) => each.version === version)
  if (record === undefined || !isLive(entry)) return 'Missing'
  for (const { enabled, notBefore, expiresOn } of [entry.spec, record]) {
    if (!enabled) return 'Disabled'
    if (notBefore !== undefined && now < Date.parse(notBefore)) return 'NotYetValid'
    if (expiresOn !== undefined && now >= Date.parse(expiresOn)) return 'Expired'
  }
  return undefined
}

/** The last time at which whether a value may be read changed by itself; undefined before the first. */
export function lastValidityChange({ spec }: Dated, now: number): string | undefined {
  const times = [spec, ...versionsOf(spec)].flatMap(({ notBefore, expiresOn }) => [notBefore, expiresOn])
  const past = times.filter((time): time is string => time !== undefined && Date.parse(time) <= now)
  return past.sort((one, other) => Date.parse(other) - Date.parse(one))[0]
}

/** The next time, in milliseconds since the epoch, at which whether the value may be read changes by itself. */
export function nextValidityChange({ notBefore, expiresOn }: Attributes, now: number): number | undefined {
  const times = [notBefore, expiresOn].flatMap((time) => (time === undefined ? [] : [Date.parse(time)]))
  return times.filter((time) => time > now).sort((one, other) => one - other)[0]
}
