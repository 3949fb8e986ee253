import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { decodeVectorKeys, type VectorKey, type VectorKeys, vectorNames } from '../../contracts/vector.ts'
import { done, type Outcome, REQUEUE_NOW, waiting } from '../../core/outcome.ts'
import type { VectorVersion } from '../../crds/vector.ts'
import {
  existingVersion,
  KEY_ANNOTATION,
  keySecret,
  podKeys,
  promotePendingKey,
  wantedKeys,
  withKeys,
} from '../../desired/vector/index.ts'
import { APPLIED_ANNOTATION } from '../../kube/apply.ts'
import { secret, statefulSet } from '../../kube/builtin.ts'
import { isRolledOut } from '../stateful/health.ts'
import { observedWorkload } from '../stateful/pass.ts'
import type { StatefulSet } from '../stateful/types.ts'
import { refOfPass } from '../workload/pass.ts'
import { keepSecret, readSecret, withSecretRights } from '../workload/secrets.ts'
import type { VectorOptions, VectorPass, VectorStep } from './types.ts'
import { versionToRun } from './workload.ts'

/** Generates keys of 256 random bits, and an unrelated id. */
function randomVectorKey(version: number): VectorKey {
  const key = () => randomBytes(32).toString('base64url')
  return { version, id: randomBytes(6).toString('hex'), apiKey: key(), readOnlyApiKey: key() }
}

/**
 * Creates the keys, and a pending generation if a newer version is requested. The Secret is written before the
 * workload, so that no pod gets a key that is not stored.
 */
export function ensureKeys({ generateKey = randomVectorKey }: Pick<VectorOptions, 'generateKey'>): VectorStep {
  return async function ensureKeys(pass: VectorPass): Promise<Outcome> {
    const { spec } = pass.object
    if (!spec.apiKeyEnabled) return done()
    let made: VectorKey | undefined
    const generate = (version: number) => {
      made ??= generateKey(version)
      return made
    }
    const peersMayRun = hasKeysInTemplate(pass)
    const decide = (stored: VectorKeys | undefined) =>
      wantedKeys(stored, spec.apiKeyVersion, { peersMayRun, now: pass.now, generate })
    const { keys } = vectorNames(pass.object.metadata.name)
    return withSecretRights(async () => {
      const build = (value: VectorKeys) => keySecret(pass.object, value)
      pass.state.keys = await keepSecret(pass, keys, { decode: decodeVectorKeys, decide, build })
      return done()
    })
  }
}

/** Reads the keys from the API server. Ownership of the Secret is checked when it is written. */
async function readStoredKeys(pass: VectorPass): Promise<VectorKeys | undefined> {
  const { namespace, name } = refOfPass(pass)
  return decodeVectorKeys((await readSecret(pass, namespace, vectorNames(name).keys))?.data)
}

function hasKeysInTemplate(pass: VectorPass): boolean {
  const { namespace, name } = refOfPass(pass)
  const workload = pass.workloads.cache<StatefulSet>(statefulSet).get(namespace, vectorNames(name).workload)
  return workload?.spec.template?.metadata?.annotations?.[KEY_ANNOTATION] !== undefined
}

/** Writes the Secret if it differs, which also repairs changes made by others. */
async function storeKeys(pass: VectorPass, keys: VectorKeys): Promise<void> {
  await pass.children.ensure(keySecret(pass.object, keys), { resource: secret })
}

/**
 * Promotes the pending key once every peer has it, in a single write of the Secret. Until then callers are shown the
 * previous key, which every peer accepts as well if the engine can; afterwards the new one.
 */
export function trackRotation(pass: VectorPass): Promise<Outcome> {
  return reconcileKeys(pass, pass.state.workload, versionToRun(pass))
}

async function reconcileKeys(
  pass: VectorPass,
  workload: StatefulSet | undefined,
  version: VectorVersion,
): Promise<Outcome> {
  const { keys } = pass.state
  if (keys === undefined) return done()
  const settled = isRolledOut(workload) ? promotePendingKey(keys, version, pass.now) : keys
  pass.report({ apiKeyVersion: keys.current?.version, apiKeyRotatedAt: keys.rotatedAt })
  if (settled === keys) return done()
  if (!isDeepStrictEqual(await readStoredKeys(pass), keys)) {
    return waiting('RotatingKey', 'The stored keys have changed and are read again.', REQUEUE_NOW)
  }
  await storeKeys(pass, settled)
  pass.state.keys = settled
  pass.report({ apiKeyVersion: settled.current?.version, apiKeyRotatedAt: settled.rotatedAt })
  if (settled.retired === undefined) return done()
  return waiting('RotatingKey', 'Every peer has the new key; the former one is being withdrawn.', REQUEUE_NOW)
}

/**
 * Updates the keys of running peers even if the steps end before the workload is written: an obstacle such as a plan or
 * quota must not keep old keys, or no key, valid. Nothing else of the workload changes.
 */
export function alwaysUpdatingKeys(options: Pick<VectorOptions, 'generateKey'>, step: VectorStep): VectorStep {
  return async function alwaysUpdatingKeys(pass: VectorPass): Promise<Outcome> {
    try {
      return await step(pass)
    } finally {
      const { running, replicas, apiKeyEnabled } = pass.object.spec
      const runs = running !== false && replicas !== 0
      if (runs && apiKeyEnabled && pass.state.workload === undefined) await replaceKeys(pass, ensureKeys(options))
    }
  }
}

async function replaceKeys(pass: VectorPass, makeKeys: VectorStep): Promise<void> {
  const existing = observedWorkload(pass)
  if (existing === undefined || existing.metadata.deletionTimestamp !== undefined) return
  if ((await makeKeys(pass)).kind !== 'done') return
  const version = (existingVersion(existing) as VectorVersion | undefined) ?? versionToRun(pass)
  const written = await applyKeys(pass, existing, version)
  // Promote the key that every peer has, and then withdraw the previous one.
  await reconcileKeys(pass, written, version)
  await applyKeys(pass, written, version)
}

async function applyKeys(pass: VectorPass, existing: StatefulSet, version: VectorVersion): Promise<StatefulSet> {
  const { keys } = pass.state
  const given = keys && podKeys(keys, version)
  const desired = given === undefined ? existing : withKeys(existing, vectorNames(pass.object.metadata.name), given)
  if (desired === existing) return existing
  // Drop the hash of the previous write, which does not match this one.
  const { [APPLIED_ANNOTATION]: _, ...annotations } = desired.metadata.annotations ?? {}
  const written = { ...desired, metadata: { ...desired.metadata, annotations } }
  return (await pass.children.ensure(written, { resource: statefulSet })).object
}
