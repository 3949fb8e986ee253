import type { PlatformKeys } from '../../adapters/platformkeys/port.ts'
import {
  EnvelopeError,
  newDataKey,
  openValue,
  sealValue,
  unwrapDataKey,
  wrapDataKey,
  wrappingKeyId,
} from '../../contracts/vaults/envelope.ts'
import {
  attributesOf,
  currentVersion,
  type EntryValueSource,
  isEntryPurged,
  lifeOfNextValue,
  MAX_SECRET_VALUE_BYTES,
  nextValidityChange,
  readRefusal,
  withVersion,
} from '../../contracts/vaults/history.ts'
import { keyContext, valueContext, valueNames } from '../../contracts/vaults/names.ts'
import { buildJweSecret, decodeJwe, encodeJwe } from '../../contracts/vaults/valueSecret.ts'
import { MANAGED_BY_LABEL, PREFIX } from '../../core/labels.ts'
import { sha256 } from '../../core/names.ts'
import { done, type Outcome, REQUEUE_NOW, stalled, waiting } from '../../core/outcome.ts'
import { secretData, secretText } from '../../core/secretData.ts'
import { secret } from '../../kube/builtin.ts'
import { absent, ignoreKubeAlreadyExists } from '../../kube/errors.ts'
import { withSecretRights } from '../workload/secrets.ts'
import { openVersion, outcomeOfEnvelopeError } from './open.ts'
import { pruneVersions } from './secrets.ts'
import {
  doneWithRequeueAt,
  type EntryOptions,
  type EntryPass,
  type EntryStep,
  entryOf,
  refOfEntry,
  type SecretObject,
  vaultOf,
  writeSpec,
} from './types.ts'

async function readSecret(pass: EntryPass, name: string): Promise<SecretObject | undefined> {
  const { namespace } = refOfEntry(pass)
  return pass.workloads.client.get<SecretObject>(secret, { namespace, name }).catch(absent)
}

/**
 * Takes the value of `valueFrom` as the next version, and again whenever its Secret changes. The caller's Secret and
 * `valueFrom` stay unchanged: the history records what was taken, in the same write as the version.
 */
export function takeValue({ keys }: EntryOptions): EntryStep {
  return async function takeValue(pass) {
    const { spec } = entryOf(pass)
    const { valueFrom, state, history } = spec
    if (valueFrom === undefined || state !== 'Active') return done()
    if (vaultOf(pass).metadata.deletionTimestamp !== undefined) return done()
    if (history?.isManaged === true) return stalled('ConfigurationInvalid', 'The platform itself writes this secret.')
    const { namespace } = refOfEntry(pass)
    pass.workloads.watchSecretMetadata(namespace)
    try {
      const object = await readSecret(pass, valueFrom.secretName)
      if (object !== undefined) return await importSource(pass, keys, object, valueFrom.key)
    } catch (error) {
      return outcomeOfEnvelopeError(error)
    }
    // A value that was taken stays if its source is deleted.
    if (isSameSource(valueFrom, history?.source)) return done()
    return waiting('WaitingForDependency', `There is no Secret "${valueFrom.secretName}" yet.`)
  }
}

type SourceRef = { secretName: string; key: string }

function isSameSource(valueFrom: SourceRef, source: SourceRef | undefined): boolean {
  return source?.secretName === valueFrom.secretName && source.key === valueFrom.key
}

async function importSource(pass: EntryPass, keys: PlatformKeys, object: SecretObject, key: string): Promise<Outcome> {
  const { name: secretName, uid = '', resourceVersion = '' } = object.metadata
  const { spec } = entryOf(pass)
  const seen = { secretName, key, uid, resourceVersion }
  // Reactivating a purged secret without a value takes its source's value again.
  const last = isEntryPurged(spec) ? undefined : spec.history?.source
  const before = isSameSource(seen, last) ? last : undefined
  if (before?.uid === uid && before.resourceVersion === resourceVersion) return done()
  const refusal = sourceRefusal(object, key)
  if (refusal !== undefined) return stalled('ReferenceMissing', refusal)
  const value = secretText(object.data, key) ?? ''
  // A value set through REST meanwhile stays until the source's value changes.
  const known = await matchingVersion(pass, keys, value, before?.version ?? currentVersion(spec))
  if (known === undefined) await addVersion(pass, keys, value, seen)
  else await writeSpec(pass, { history: { source: { ...seen, version: known } } })
  return done()
}

/** Returns why a Secret must not be used as a source. */
function sourceRefusal(source: SecretObject, key: string): string | undefined {
  const { name, labels = {}, ownerReferences = [] } = source.metadata
  const isOurs =
    Object.keys(labels).some((label) => label.startsWith(PREFIX)) || labels[MANAGED_BY_LABEL] === 'freehold'
  const isOwned = ownerReferences.length > 0 || (source.type !== undefined && source.type !== 'Opaque')
  if (isOurs || isOwned) return `Secret "${name}" belongs to something else: create an Opaque Secret of your own.`
  const value = source.data?.[key]
  if (value === undefined) return `Secret "${name}" has no entry "${key}".`
  const bytes = Buffer.from(value, 'base64').length
  return bytes > MAX_SECRET_VALUE_BYTES
    ? `Entry "${key}" of Secret "${name}" has more than ${MAX_SECRET_VALUE_BYTES} bytes.`
    : undefined
}

/** Returns the version if it has this value. */
async function matchingVersion(pass: EntryPass, keys: PlatformKeys, value: string, version: number) {
  const { spec } = entryOf(pass)
  if (version === 0 || isEntryPurged(spec)) return undefined
  const held = await openVersion(pass.workloads, entryOf(pass), keys, version)
  return held !== undefined && sha256(held) === sha256(value) ? version : undefined
}

async function addVersion(
  pass: EntryPass,
  keys: PlatformKeys,
  value: string,
  seen: Omit<EntryValueSource, 'version'>,
): Promise<void> {
  const { namespace, name } = refOfEntry(pass)
  const entry = entryOf(pass)
  const { spec } = entry
  const life = lifeOfNextValue(spec)
  const dataKey = await ensureDataKey(pass, keys, life)
  const names = valueNames(name, life)
  let version = spec.history?.lastVersion ?? 0
  for (let isOurs = false; !isOurs; ) {
    version += 1
    const context = valueContext(namespace, name, life, version)
    const sealed = await sealValue(value, dataKey, context)
    const isMade = await create(pass, buildJweSecret(entry, life, 'value', names.version(version), sealed))
    isOurs = isMade || (await isValueStored(pass, names.version(version), { dataKey, context, value }))
  }
  const change = { at: pass.now, ...attributesOf(spec), version, bytes: Buffer.byteLength(value, 'utf8') }
  const next = withVersion(spec, change, vaultOf(pass).spec)
  const cleared = { deletedAt: null, purgedAt: null }
  await writeSpec(pass, { history: { ...next.history, ...cleared, source: { ...seen, version } } })
}

/**
 * Whether an interrupted attempt of this controller stored the value under this number: then it holds the same value. A
 * different value may be one that REST is about to list.
 */
async function isValueStored(
  pass: EntryPass,
  name: string,
  { dataKey, context, value }: { dataKey: Uint8Array; context: string; value: string },
): Promise<boolean> {
  const sealed = decodeJwe((await readSecret(pass, name))?.data)
  if (sealed === undefined) return false
  const held = await openValue(sealed, dataKey, context).catch((error: unknown) => {
    if (error instanceof EnvelopeError) return undefined
    throw error
  })
  return held !== undefined && sha256(held) === sha256(value)
}

async function ensureDataKey(pass: EntryPass, keys: PlatformKeys, life: number): Promise<Uint8Array> {
  const { namespace, name } = refOfEntry(pass)
  const context = keyContext(namespace, name, life)
  const { key } = valueNames(name, life)
  const stored = decodeJwe((await readSecret(pass, key))?.data)
  if (stored !== undefined) return unwrapDataKey(stored, keys, context)
  const made = newDataKey()
  const wrapped = await wrapDataKey(made, keys, context)
  if (await create(pass, buildJweSecret(entryOf(pass), life, 'key', key, wrapped))) return made
  const others = decodeJwe((await readSecret(pass, key))?.data)
  if (others === undefined) throw new EnvelopeError('Broken')
  return unwrapDataKey(others, keys, context)
}

async function create(pass: EntryPass, object: Parameters<EntryPass['workloads']['client']['create']>[1]) {
  return (await pass.workloads.client.create(secret, object).catch(ignoreKubeAlreadyExists)) !== undefined
}

/** Re-wraps the data key with the newest platform key. The status names the present one, which saves requests. */
export function rewrapKey({ keys }: EntryOptions): EntryStep {
  return async function rewrapKey(pass) {
    const { spec } = entryOf(pass)
    const newest = keys.newest()
    const { history, state } = spec
    if (history === undefined || state === 'Purged' || history.versions.length === 0) {
      pass.report({ keyId: undefined })
      return done()
    }
    if (newest === undefined) return outcomeOfEnvelopeError(new EnvelopeError('NoPlatformKey'))
    if (pass.object.status?.keyId === newest.id && pass.object.status.purgedLife === history.life - 1) return done()
    return rewrap(pass, keys, newest.id, history.life).catch(outcomeOfEnvelopeError)
  }
}

async function rewrap(pass: EntryPass, keys: PlatformKeys, newest: string, life: number): Promise<Outcome> {
  const { namespace, name } = refOfEntry(pass)
  const context = keyContext(namespace, name, life)
  const ref = { namespace, name: valueNames(name, life).key }
  const stored = await readSecret(pass, ref.name)
  const wrapped = decodeJwe(stored?.data)
  if (stored === undefined || wrapped === undefined) {
    return stalled(
      'ReferenceMissing',
      `The data key of this secret, the Secret "${ref.name}", is gone, and its values with it: restore it from a backup, or delete and purge the secret and set it again.`,
    )
  }
  if (wrappingKeyId(wrapped) !== newest) {
    const dataKey = await unwrapDataKey(wrapped, keys, context)
    const data = encodeJwe(await wrapDataKey(dataKey, keys, context))
    const { resourceVersion, uid } = stored.metadata
    await pass.workloads.client.mergePatch(secret, ref, { data }, { resourceVersion, uid })
  }
  pass.report({ keyId: newest })
  return done()
}

/** Deletes values that newer versions have evicted. */
export async function prune(pass: EntryPass): Promise<Outcome> {
  return (await pruneVersions(pass)) ?? done()
}

/** Returns where workloads mount the current value; undefined while it must not be read. */
function wantedMount(pass: EntryPass): { secretName: string; key: string } | undefined {
  const { spec, metadata } = entryOf(pass)
  const refusal = readRefusal({ metadata, spec }, currentVersion(spec), pass.clock.now())
  return refusal === undefined ? spec.mountAs : undefined
}

/** Withdraws an outdated mounted Secret, before any step that can stop the pass. */
export function withdrawValue(pass: EntryPass): Promise<Outcome> {
  return withSecretRights(async () => {
    const { spec } = entryOf(pass)
    const before = pass.object.status?.mountedSecret
    const wanted = wantedMount(pass)?.secretName
    if (before !== undefined && before !== wanted) {
      await pass.children.remove(secret, refOfEntry(pass).namespace, before)
      pass.report({ mountedSecret: undefined, mountedVersion: undefined })
    }
    const isShown = spec.mountAs !== undefined && spec.state === 'Active'
    return isShown ? doneWithRequeueAt(pass, nextValidityChange(spec, pass.clock.now())) : done()
  })
}

/** Writes the current value to a Secret for workloads. */
export function mountValue({ keys }: EntryOptions): EntryStep {
  return async function mountValue(pass) {
    const wanted = wantedMount(pass)
    try {
      return wanted === undefined ? done() : await writeMountedSecret(pass, keys, wanted)
    } catch (error) {
      return outcomeOfEnvelopeError(error)
    }
  }
}

/** Records the Secret's name before creating it, so that after a crash every value can still be withdrawn. */
async function writeMountedSecret(pass: EntryPass, keys: PlatformKeys, wanted: { secretName: string; key: string }) {
  const { namespace } = refOfEntry(pass)
  if (pass.object.status?.mountedSecret !== wanted.secretName) {
    pass.report({ mountedSecret: wanted.secretName, mountedVersion: undefined })
    return waiting('WaitingForDependency', `The Secret "${wanted.secretName}" of mountAs is being made.`, REQUEUE_NOW)
  }
  const version = currentVersion(entryOf(pass).spec)
  const value = await openVersion(pass.workloads, entryOf(pass), keys)
  if (value === undefined) return stalled('ReferenceMissing', 'The value of the newest version is gone.')
  const object = {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: { name: wanted.secretName, namespace },
    data: secretData({ [wanted.key]: value }),
  }
  await pass.children.ensure(object, { resource: secret })
  pass.report({ mountedSecret: wanted.secretName, mountedVersion: version })
  return done()
}
