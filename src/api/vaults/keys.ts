import type { PlatformKeys } from '../../adapters/platformkeys/port.ts'
import {
  claimedContextOf,
  EnvelopeError,
  newDataKey,
  openValue,
  sealValue,
  unwrapDataKey,
  wrapDataKey,
} from '../../contracts/vaults/envelope.ts'
import { currentVersion } from '../../contracts/vaults/history.ts'
import { keyContext, valueContext, valueNames } from '../../contracts/vaults/names.ts'
import { buildJweSecret } from '../../contracts/vaults/valueSecret.ts'
import { PlatformError } from '../../core/errors.ts'
import type { EntryRecord } from './record.ts'
import type { ValueStore } from './values.ts'

export type Vaults = {
  readonly keys: PlatformKeys
  readonly values: ValueStore
  /** The external URL of the facade, without a trailing slash. */
  readonly baseUrl: string
}

/** Returns the value of a version; undefined if it or its key is gone. @throws PlatformError SERVICE_UNAVAILABLE */
export async function readValue({ keys, values }: Vaults, entry: EntryRecord, version: number) {
  const { namespace = '', name } = entry.metadata
  const life = entry.spec.history?.life ?? 1
  const names = valueNames(name, life)
  const context = valueContext(namespace, name, life, version)
  const readVersion = () => values.read(namespace, names.version(version))
  const isNewest = version === currentVersion(entry.spec)
  const [key, ofVersion] = await Promise.all([
    values.readKey(namespace, names.key),
    isNewest ? undefined : readVersion(),
  ])
  if (key === undefined) return undefined
  const cached = key.newest !== undefined && claimedContextOf(key.newest) === context ? key.newest : undefined
  const sealed = ofVersion ?? cached ?? (await readVersion())
  if (sealed === undefined) return undefined
  return withEnvelopeErrors(async () => {
    const dataKey = await unwrapKey(keys, key.wrapped, keyContext(namespace, name, life))
    return openValue(sealed, dataKey, context)
  })
}

/** Returns the data key of a life, created at first use. @throws PlatformError SERVICE_UNAVAILABLE, INVALID_STATE */
export async function dataKeyOf({ keys, values }: Vaults, entry: EntryRecord, life: number): Promise<Uint8Array> {
  const { namespace = '', name } = entry.metadata
  const context = keyContext(namespace, name, life)
  const { key } = valueNames(name, life)
  const stored = await values.read(namespace, key)
  if (stored !== undefined) return withEnvelopeErrors(() => unwrapKey(keys, stored, context))
  const dataKey = newDataKey()
  const wrapped = await withEnvelopeErrors(() => wrapDataKey(dataKey, keys, context))
  if (await values.create(buildJweSecret(entry, life, 'key', key, wrapped))) return dataKey
  const others = await values.read(namespace, key)
  if (others !== undefined) return withEnvelopeErrors(() => unwrapKey(keys, others, context))
  throw new PlatformError('INVALID_STATE', `Secret "${entry.spec.secretName}" was purged meanwhile: try again.`, {
    status: 'Updating',
    phase: 'TearingDown',
  })
}

/** Stores a value as this version and returns it encrypted; undefined if the version number is taken. */
export async function storeValue(
  { values }: Vaults,
  entry: EntryRecord,
  stored: { life: number; version: number; value: string; dataKey: Uint8Array },
): Promise<string | undefined> {
  const { namespace = '', name } = entry.metadata
  const { life, version, value, dataKey } = stored
  const sealed = await sealValue(value, dataKey, valueContext(namespace, name, life, version))
  const object = buildJweSecret(entry, life, 'value', valueNames(name, life).version(version), sealed)
  return (await values.create(object)) ? sealed : undefined
}

/** Stores the newest value beside its key too. If this fails, reads need two calls. */
export async function cacheNewestValue(
  { values }: Vaults,
  entry: EntryRecord,
  life: number,
  sealed: string,
): Promise<void> {
  const { namespace = '', name } = entry.metadata
  await values.keepNewest(namespace, valueNames(name, life).key, sealed).catch(() => {})
}

/** Another process may have loaded a new platform key earlier and wrapped with it. */
async function unwrapKey(keys: PlatformKeys, wrapped: string, context: string): Promise<Uint8Array> {
  try {
    return await unwrapDataKey(wrapped, keys, context)
  } catch (error) {
    if (!(error instanceof EnvelopeError) || error.fault !== 'UnknownPlatformKey') throw error
    await keys.refresh()
    return unwrapDataKey(wrapped, keys, context)
  }
}

/** Translates envelope errors, revealing nothing about the content. */
async function withEnvelopeErrors<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof EnvelopeError)) throw error
    throw new PlatformError('SERVICE_UNAVAILABLE', describeFault(error), {}, { cause: error })
  }
}

function describeFault({ fault, keyId }: EnvelopeError): string {
  if (fault === 'NoPlatformKey') return 'No platform key is configured: set PLATFORM_VAULT_KEYS_FILE.'
  if (fault === 'UnknownPlatformKey') return `The platform key "${keyId}" is no longer configured.`
  return 'The stored value was altered or belongs elsewhere.'
}
