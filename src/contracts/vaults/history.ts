import { DAY_MS } from '../../core/clock.ts'
/** Versions and states of one secret (interface section 3, records of secret vaults). Pure: time is an argument. */

export const VERSIONS_KEPT = 100
export const MAX_SECRET_VALUE_BYTES = 65_536
/** Bytes of the values in all vaults of a boundary: they are kept in the store of the whole cluster. */
export const MAX_BOUNDARY_VALUE_BYTES = 64 * 1024 * 1024
/** What a version takes at least, however short its value is. */
const VERSION_BYTES = 1_024
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

export type VersionRecord = Attributes & {
  version: number
  createdAt: string
  createdBy?: string | undefined
  /** Bytes of the value; absent for versions of earlier releases. */
  bytes?: number | undefined
}

/** What the platform itself keeps about a secret; nobody else may write it. */
export type EntryHistory = {
  /** Grows with each purge, and is part of the names of keys and values. */
  life: number
  /** The highest version ever given: numbers are never reused, not even after a purge. */
  lastVersion: number
  /** Ascending. */
  versions: VersionRecord[]
  /** Copied from the vault, so that rules over the secret alone can use them. */
  softDelete: boolean
  purgeProtection: boolean
  /** Written by the platform, not by people. */
  isManaged: boolean
  createdAt?: string | undefined
  updatedAt?: string | undefined
  updatedBy?: string | undefined
  deletedAt?: string | undefined
  purgedAt?: string | undefined
  /** The Secret of valueFrom when its value was last read, and the version that has this value. */
  source?: EntryValueSource | undefined
}

export type EntryValueSource = {
  secretName: string
  key: string
  uid: string
  resourceVersion: string
  version: number
}

export type EntrySpec = Attributes & {
  vaultName: string
  secretName: string
  tags: Record<string, string>
  state: EntryState
  history?: EntryHistory | undefined
}

export type VaultRules = {
  softDeleteEnabled: boolean
  softDeleteRetentionDays: number
  enablePurgeProtection: boolean
}

/** Who acts, and when (RFC 3339). */
export type ChangeStamp = { at: string; by?: string | undefined }

export function newHistory(rules: VaultRules): EntryHistory {
  return {
    life: 1,
    lastVersion: 0,
    versions: [],
    softDelete: rules.softDeleteEnabled,
    purgeProtection: rules.enablePurgeProtection,
    isManaged: false,
  }
}

type StoredEntry = { metadata: { deletionTimestamp?: string | undefined }; spec: EntrySpec }

/** Whether the secret is visible: it has a version, and is neither purged nor about to be removed. */
export function isEntryVisible({ metadata, spec }: StoredEntry): boolean {
  return metadata.deletionTimestamp === undefined && spec.state !== 'Purged' && (spec.history?.versions.length ?? 0) > 0
}

export function isEntryActive(entry: StoredEntry): boolean {
  return isEntryVisible(entry) && entry.spec.state === 'Active'
}

export function currentVersion(spec: EntrySpec): number {
  return spec.history?.versions.at(-1)?.version ?? 0
}

/** Ascending. The newest has the secret's own attributes, which may have changed since it was written. */
export function entryVersionsOf(spec: EntrySpec): VersionRecord[] {
  const versions = spec.history?.versions ?? []
  return versions.map((record, index) =>
    index === versions.length - 1 ? { ...record, ...attributesOf(spec) } : record,
  )
}

export function attributesOf({ contentType, enabled, notBefore, expiresOn }: Attributes): Attributes {
  return { contentType, enabled, notBefore, expiresOn }
}

/** Whether the secret never had a value: only kubectl shows it, and there is nothing to recover or to purge. */
export function hasNoValueYet({ history }: EntrySpec): boolean {
  return (history?.lastVersion ?? 0) === 0
}

/** Whether the secret was purged and has no value since, even if somebody has set it to active again. */
export function isEntryPurged({ history }: EntrySpec): boolean {
  return history?.purgedAt !== undefined
}

/** Returns the life that the next value belongs to: a new one after a purge. */
export function lifeOfNextValue(spec: EntrySpec): number {
  return (spec.history?.life ?? 1) + (isEntryPurged(spec) ? 1 : 0)
}

const countedBytes = (bytes = 0) => Math.max(bytes, VERSION_BYTES)

/** Returns the bytes of all versions of a secret, as far as they are known. */
export function storedBytesOf({ history }: Pick<EntrySpec, 'history'>): number {
  return (history?.versions ?? []).reduce((sum, { bytes }) => sum + countedBytes(bytes), 0)
}

/** Returns by how many bytes a secret grows with another version, which takes the place of the oldest one of 100. */
export function growthWith({ history }: Pick<EntrySpec, 'history'>, bytes: number): number {
  const versions = history?.versions ?? []
  const replaced = versions.length < VERSIONS_KEPT ? 0 : countedBytes(versions[0]?.bytes)
  return countedBytes(bytes) - replaced
}

export type NewVersion = ChangeStamp &
  Attributes & { version: number; bytes: number; tags?: Record<string, string> | undefined }

/**
 * Adds a version. Of two concurrent writers the slower one may have the smaller number: its version is inserted in
 * order, and the attributes of the secret stay those of the newest.
 */
export function withVersion<Spec extends EntrySpec>(spec: Spec, added: NewVersion, rules: VaultRules): Spec {
  const before = spec.history ?? newHistory(rules)
  const record: VersionRecord = {
    version: added.version,
    ...attributesOf(added),
    createdAt: added.at,
    createdBy: added.by,
    bytes: added.bytes,
  }
  const versions = [...entryVersionsOf(spec).filter(({ version }) => version !== added.version), record]
    .sort((one, other) => one.version - other.version)
    .slice(-VERSIONS_KEPT)
  const isNewest = versions.at(-1) === record
  const history: EntryHistory = {
    ...before,
    life: lifeOfNextValue(spec),
    lastVersion: Math.max(before.lastVersion, added.version),
    versions,
    softDelete: rules.softDeleteEnabled,
    purgeProtection: rules.enablePurgeProtection,
    createdAt: before.createdAt ?? added.at,
    updatedAt: added.at,
    updatedBy: added.by,
    deletedAt: undefined,
    purgedAt: undefined,
  }
  if (!isNewest) return { ...spec, state: 'Active', history }
  return { ...spec, ...attributesOf(added), tags: added.tags ?? spec.tags, state: 'Active', history }
}

export function withDeletion<Spec extends EntrySpec>(spec: Spec, { at, by }: ChangeStamp): Spec {
  const { history } = spec
  if (history === undefined) return { ...spec, state: 'Deleted' }
  return { ...spec, state: 'Deleted', history: { ...history, deletedAt: at, updatedAt: at, updatedBy: by } }
}

export function withRecovery<Spec extends EntrySpec>(spec: Spec, { at, by }: ChangeStamp): Spec {
  const { history } = spec
  if (history === undefined) return { ...spec, state: 'Active' }
  return { ...spec, state: 'Active', history: { ...history, deletedAt: undefined, updatedAt: at, updatedBy: by } }
}

/** Keeps nothing but the numbers; the data key is deleted with the Secrets of this life. */
export function withPurge<Spec extends EntrySpec>(spec: Spec, { at, by }: ChangeStamp): Spec {
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
      // A purge is permitted only once the protection has ended, or if there was none.
      purgeProtection: false,
      isManaged: false,
      // Remembered, so that an unchanged source does not replace a value that is set later.
      source: history.source,
      updatedAt: at,
      updatedBy: by,
      purgedAt: at,
    },
  } as unknown as Spec
}

const addDays = (time: string, days: number) =>
  new Date(Date.parse(time) + days * DAY_MS).toISOString().replace('.000', '')

/** Returns when a deleted secret is purged, and may be purged despite protection; undefined if it is not deleted. */
export function purgeTime(spec: EntrySpec, rules: VaultRules): string | undefined {
  const deletedAt = spec.history?.deletedAt
  return spec.state === 'Deleted' && deletedAt !== undefined
    ? addDays(deletedAt, rules.softDeleteRetentionDays)
    : undefined
}

/** Returns until when the numbers of a purged secret are remembered. */
export function forgetTime(spec: EntrySpec, rules: VaultRules): string | undefined {
  const purgedAt = spec.history?.purgedAt
  return spec.state === 'Purged' && purgedAt !== undefined
    ? addDays(purgedAt, rules.softDeleteRetentionDays)
    : undefined
}

export type ReadRefusal = 'Missing' | 'Disabled' | 'NotYetValid' | 'Expired'

/** Returns why the value of a version cannot be read now. The secret's own attributes apply to all of its versions. */
export function readRefusal(entry: StoredEntry, version: number, now: number): ReadRefusal | undefined {
  const record = entryVersionsOf(entry.spec).find((each) => each.version === version)
  if (record === undefined || !isEntryActive(entry)) return 'Missing'
  for (const { enabled, notBefore, expiresOn } of [entry.spec, record]) {
    if (!enabled) return 'Disabled'
    if (notBefore !== undefined && now < Date.parse(notBefore)) return 'NotYetValid'
    if (expiresOn !== undefined && now >= Date.parse(expiresOn)) return 'Expired'
  }
  return undefined
}

/** Returns when the readability of a value last changed by itself; undefined before the first change. */
export function lastValidityChange({ spec }: StoredEntry, now: number): string | undefined {
  const times = entryVersionsOf(spec).flatMap(({ notBefore, expiresOn }) => [notBefore, expiresOn])
  const past = times.filter((time): time is string => time !== undefined && Date.parse(time) <= now)
  return past.sort((one, other) => Date.parse(other) - Date.parse(one))[0]
}

/** Returns when the readability of the value next changes by itself, in milliseconds since the epoch. */
export function nextValidityChange({ notBefore, expiresOn }: Attributes, now: number): number | undefined {
  const times = [notBefore, expiresOn].flatMap((time) => (time === undefined ? [] : [Date.parse(time)]))
  return times.filter((time) => time > now).sort((one, other) => one - other)[0]
}
