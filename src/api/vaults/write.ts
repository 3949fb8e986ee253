import {
  attributesOf,
  currentVersion,
  growthWith,
  hasNoValueYet,
  isEntryActive,
  isEntryVisible,
  lifeOfNextValue,
  MAX_BOUNDARY_VALUE_BYTES,
  MAX_SECRET_VALUE_BYTES,
  newHistory,
  purgeTime,
  storedBytesOf,
  withDeletion,
  withPurge,
  withRecovery,
  withVersion,
} from '../../contracts/vaults/history.ts'
import { entryName, isSecretName, SECRET_NAMING, valueNames } from '../../contracts/vaults/names.ts'
import { timestamp } from '../../core/clock.ts'
import { PlatformError, refusedFields } from '../../core/errors.ts'
import { KeyedMutex } from '../../core/keyedMutex.ts'
import { FINALIZER } from '../../core/labels.ts'
import { VaultEntry } from '../../crds/vaults.ts'
import { isKubeError } from '../../kube/errors.ts'
import { noContent, ok } from '../http/answer.ts'
import { etagOf, matchesAnyVersion, nothingToMatch, refuseStale, versionOf } from '../http/etag.ts'
import { checkSpec } from '../records/specs.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { findEntry, findSecret, findVault, missingSecret, type SecretContext } from './find.ts'
import { cacheNewestValue, dataKeyOf, storeValue } from './keys.ts'
import { type EntryRecord, secretDto, type VaultRecord } from './record.ts'
import type { SetSecretRequest } from './requests.ts'

const entryMutex = new KeyedMutex()

/** How often to retry when a writer on another replica takes the number or changes the object. */
const ATTEMPTS_MAX = 50

type SetSecretContext = SecretContext & { readonly body: SetSecretRequest }

/**
 * Adds a version. Creating the Secret of the value reserves its number: of concurrent writers, the API server lets one
 * through, and the others take the next number. Then the version is added to the entry. A crash in between leaves an
 * encrypted Secret that no entry lists, and a number that nobody was told.
 */
export async function setSecret(context: SetSecretContext) {
  const vault = await findVault(context)
  refuseWhileDeleting(vault)
  const { secretName } = context.parameters
  if (!isSecretName(secretName)) {
    throw refusedFields([{ field: 'name', message: SECRET_NAMING }])
  }
  if (Buffer.byteLength(context.body.value, 'utf8') > MAX_SECRET_VALUE_BYTES) {
    throw refusedFields([{ field: 'value', message: `has more than ${MAX_SECRET_VALUE_BYTES} bytes` }])
  }
  const { namespace = '', name } = vault.metadata
  return entryMutex.take(`${namespace}/${entryName(name, secretName)}`, async () => {
    const { object, version } = await addVersion(context, vault)
    const dto = secretDto({ entry: object, vault, services: context.services }, null, version)
    return ok(dto, { etag: etagOf(object) })
  })
}

/** @throws PlatformError QUOTA_EXCEEDED, before anything is stored */
function refuseWithoutRoom({ services, parameters, body }: SetSecretContext, found: EntryRecord | undefined): void {
  const growth = growthWith(found?.spec ?? {}, Buffer.byteLength(body.value, 'utf8'))
  if (growth <= 0) return
  const used = services.records
    .peekAll(VaultEntry, { boundaryId: parameters.boundaryId })
    .reduce((sum, { spec }) => sum + storedBytesOf(spec), 0)
  if (used + growth <= MAX_BOUNDARY_VALUE_BYTES) return
  const limit = MAX_BOUNDARY_VALUE_BYTES
  const message = `The values of all secrets of the boundary may have ${limit} bytes with their versions, and have ${used}: purge secrets that are not needed.`
  throw new PlatformError('QUOTA_EXCEEDED', message, { quota: 'secretValues', limit, used, requested: growth })
}

async function addVersion(
  context: SetSecretContext,
  vault: VaultRecord,
): Promise<{ object: EntryRecord; version: number }> {
  const numbers = { next: 1 }
  for (let attempt = 1; ; attempt += 1) {
    const entry = await entryToWrite(context, vault)
    try {
      const result = await tryVersion(context, vault, entry, numbers)
      if (result !== undefined) return result
    } catch (error) {
      if (!isKubeError(error, 'Conflict')) throw error
    }
    if (attempt >= ATTEMPTS_MAX) {
      const message = `Secret "${context.parameters.secretName}" is written by many at once: try again.`
      throw new PlatformError('CONFLICT', message, { currentVersion: etagOf(entry) })
    }
  }
}

/** Returns the entry to write. @throws PlatformError MANAGED_SECRET, SECRET_DELETED, INVALID_STATE, CONFLICT */
async function entryToWrite(context: SetSecretContext, vault: VaultRecord): Promise<EntryRecord> {
  const { services, caller, parameters, body } = context
  const { namespace, name: vaultName } = vault.metadata
  const found = await findEntry(context, vault, parameters.secretName)
  refuseWithoutRoom(context, found)
  if (found !== undefined) {
    refuseWrite(found)
    await refuseUnmatched(context, vault, found)
    // Checks the rules before anything is stored.
    checkSpec(VaultEntry, { ...found.spec, ...attributesOf(body), tags: body.tags ?? {} }, undefined)
    return found
  }
  if (context.header('if-match') !== undefined) throw nothingToMatch()
  const { object } = await services.records.create(VaultEntry, {
    namespace,
    name: entryName(vaultName, parameters.secretName),
    spec: {
      vaultName,
      secretName: parameters.secretName,
      ...attributesOf(body),
      tags: body.tags ?? {},
      history: newHistory(vault.spec),
    },
    caller,
    // Set at creation: an entry deleted before its controller saw it would leave its values behind.
    finalizers: [FINALIZER],
    // Another writer may be first; the versions decide which attributes apply.
    isSame: () => true,
  })
  refuseWrite(object)
  return object
}

/**
 * Checks If-Match before anything is stored: otherwise each refused request would leave a value that no entry lists.
 * @throws PlatformError CONFLICT
 */
async function refuseUnmatched(context: SetSecretContext, vault: VaultRecord, known: EntryRecord): Promise<void> {
  const { ifMatch, services, parameters } = context
  if (ifMatch === undefined || matchesAnyVersion(ifMatch, known)) return
  const newest = await findEntry({ services, fresh: true }, vault, parameters.secretName)
  if (newest === undefined) throw nothingToMatch()
  refuseStale([newest], ifMatch)
}

function refuseWrite(entry: EntryRecord): void {
  refuseWhileDeleting(entry)
  const { spec } = entry
  if (spec.history?.isManaged === true) throw managed(entry)
  if (spec.state !== 'Deleted' || hasNoValueYet(spec)) return
  throw new PlatformError('SECRET_DELETED', `Secret "${spec.secretName}" is deleted: recover or purge it first.`)
}

function managed({ spec }: EntryRecord): PlatformError {
  return new PlatformError('MANAGED_SECRET', `Secret "${spec.secretName}" is written by the platform only.`)
}

/**
 * Returns undefined if the number was taken or the secret was purged in the meantime: read again.
 * @param numbers the next number to try, so that no taken number is tried twice
 */
async function tryVersion(
  context: SetSecretContext,
  vault: VaultRecord,
  entry: EntryRecord,
  numbers: { next: number },
) {
  const { services, caller, body, ifMatch } = context
  const life = lifeOfNextValue(entry.spec)
  const dataKey = await dataKeyOf(services.vaults, entry, life)
  let version = 0
  let sealed: string | undefined
  for (let attempt = 0; sealed === undefined; attempt += 1) {
    if (attempt > ATTEMPTS_MAX) return undefined
    version = Math.max(numbers.next, (entry.spec.history?.lastVersion ?? 0) + 1)
    sealed = await storeValue(services.vaults, entry, { life, version, value: body.value, dataKey })
    numbers.next = version + 1
  }
  const stamp = { at: timestamp(services.clock.now()), by: caller.principalId }
  const bytes = Buffer.byteLength(body.value, 'utf8')
  let isStale = false
  const { object } = await services.records.update(
    VaultEntry,
    { namespace: entry.metadata.namespace ?? '', name: entry.metadata.name },
    {
      caller,
      ifMatch,
      change: (stored) => {
        refuseWrite(stored)
        isStale = lifeOfNextValue(stored.spec) !== life || stored.metadata.uid !== entry.metadata.uid
        if (isStale) return stored.spec
        const added = { ...stamp, ...attributesOf(body), tags: body.tags ?? {}, version, bytes }
        return withVersion(stored.spec, added, vault.spec)
      },
    },
  )
  if (isStale) return undefined
  if (currentVersion(object.spec) === version) await cacheNewestValue(services.vaults, entry, life, sealed)
  return { object, version }
}

/** Answers 200 with the deleted secret if the vault supports recovery, or 204 if it is gone. */
export async function deleteSecret(context: SecretContext) {
  const { services, parameters } = context
  const vault = await findVault(context)
  const entry = await findEntry(context, vault, parameters.secretName)
  if (entry !== undefined && hasNoValueYet(entry.spec)) return removeUnfilled(context, entry)
  if (entry === undefined || !isEntryActive(entry)) throw missingSecret(vault.metadata.name, parameters.secretName)
  if (!vault.spec.softDeleteEnabled) {
    await purge(context, entry, (stored) => {
      if (stored.spec.history?.isManaged === true) throw managed(stored)
    })
    return noContent()
  }
  const object = await change(context, entry, (stored) => {
    if (!isEntryActive(stored)) throw missingSecret(vault.metadata.name, entry.spec.secretName)
    if (stored.spec.history?.isManaged === true) throw managed(stored)
    return withDeletion(stored.spec, stampOf(context))
  })
  return ok(secretDto({ entry: object, vault, services }, null), { etag: etagOf(object) })
}

/** Removes the object, unless it has got a value in the meantime. */
async function removeUnfilled({ services, caller, ifMatch }: SecretContext, entry: EntryRecord) {
  const { metadata, spec } = entry
  if (metadata.deletionTimestamp !== undefined) throw missingSecret(spec.vaultName, spec.secretName)
  if (spec.history?.isManaged === true) throw managed(entry)
  const { namespace = '', name } = metadata
  await services.records.remove(VaultEntry, { namespace, name }, { caller, ifMatch: ifMatch ?? [versionOf(entry)] })
  return noContent()
}

export async function recoverSecret(context: SecretContext) {
  const { vault, entry } = await findSecret(context)
  const object = await change(context, entry, (stored) => {
    refuseUnlessDeleted(stored)
    return withRecovery(stored.spec, stampOf(context))
  })
  return ok(secretDto({ entry: object, vault, services: context.services }, null), { etag: etagOf(object) })
}

export async function purgeSecret(context: SecretContext) {
  const { vault, entry } = await findSecret(context)
  await purge(context, entry, (stored) => {
    refuseUnlessDeleted(stored)
    const purgeAt = purgeTime(stored.spec, vault.spec)
    if (!vault.spec.enablePurgeProtection) return
    if (purgeAt !== undefined && context.services.clock.now() >= Date.parse(purgeAt)) return
    const message = `Secret "${stored.spec.secretName}" is under purge protection until ${purgeAt ?? 'its time is over'}.`
    throw new PlatformError('PURGE_PROTECTED', message, { purgeAt: purgeAt ?? null }, { status: 409 })
  })
  return noContent()
}

/** Keeps the version numbers only: the data key is wiped at once, and the controller deletes the Secrets. */
async function purge(context: SecretContext, entry: EntryRecord, check: (stored: EntryRecord) => void) {
  let life = entry.spec.history?.life ?? 1
  await change(context, entry, (stored) => {
    if (!isEntryVisible(stored)) throw missingSecret(stored.spec.vaultName, stored.spec.secretName)
    check(stored)
    life = stored.spec.history?.life ?? 1
    return withPurge(stored.spec, stampOf(context))
  })
  const { namespace = '', name } = entry.metadata
  await context.services.vaults.values.wipe(namespace, valueNames(name, life).key)
}

function refuseUnlessDeleted({ spec }: EntryRecord): void {
  if (spec.state === 'Deleted') return
  const message = `Secret "${spec.secretName}" is not deleted.`
  throw new PlatformError('INVALID_STATE', message, { status: spec.state, phase: null })
}

function stampOf({ services, caller }: SecretContext) {
  return { at: timestamp(services.clock.now()), by: caller.principalId }
}

async function change(
  { services, caller, ifMatch }: SecretContext,
  { metadata }: EntryRecord,
  next: (stored: EntryRecord) => object,
): Promise<EntryRecord> {
  const ref = { namespace: metadata.namespace ?? '', name: metadata.name }
  const { object } = await services.records.update(VaultEntry, ref, { caller, ifMatch, change: next })
  return object
}
