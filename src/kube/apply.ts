import { createHash } from 'node:crypto'
import { isRecord } from '../core/isRecord.ts'
import { PREFIX } from '../core/labels.ts'
import type { KubeObject, Resource } from '../core/object.ts'
import { secretData } from '../core/secretData.ts'
import type { CallOptions, KubeClient } from './client.ts'
import { firstDifference } from './compare.ts'
import { isKubeError } from './errors.ts'

/** Annotation on applied objects with the hash of the intent, so that fields we no longer want are noticed. */
export const APPLIED_ANNOTATION = `${PREFIX}applied`

/** No stored object has this resourceVersion, so an apply that requires it can only create. */
const NO_RESOURCE_VERSION = '1'

type Applying = Pick<KubeClient, 'apply'>

/**
 * Creates the object by server-side apply. Returns undefined if an object of that name exists: only a read tells who
 * owns it. Nothing is overwritten in either case, however stale the caller's view is.
 */
export async function applyIfAbsent<T extends KubeObject>(
  client: Applying,
  resource: Resource,
  desired: T,
): Promise<T | undefined> {
  const intent = withHash(desired)
  const guarded = { ...intent, metadata: { ...intent.metadata, resourceVersion: NO_RESOURCE_VERSION } } as T
  try {
    return await client.apply<T>(resource, guarded, { force: true })
  } catch (error) {
    if (isKubeError(error, 'Conflict')) return undefined
    throw error
  }
}

/**
 * Makes an object match `desired` by a forced server-side apply, and sends nothing if it already matches. The caller
 * decides whether the object is ours.
 *
 * It matches if the annotation carries the hash of this intent and every desired field has the desired value. The
 * comparison alone would miss a field that we no longer want; the hash alone would miss an edit by somebody else.
 *
 * @param observed the object as last seen; undefined if the API server said that there is none
 * @throws KubeError Conflict if the object was replaced meanwhile
 */
export async function applyIfChanged<T extends KubeObject>(
  client: Applying,
  resource: Resource,
  desired: T,
  observed: T | undefined,
  options: CallOptions = {},
): Promise<{ changed: boolean; object: T }> {
  const intent = withHash(desired)
  if (observed !== undefined && differenceOf(intent, observed) === undefined)
    return { changed: false, object: observed }
  // With the uid the API server refuses if another object has replaced this one, so that none is adopted.
  const uid = observed?.metadata.uid
  const guarded = (uid === undefined ? intent : { ...intent, metadata: { ...intent.metadata, uid } }) as T
  return { changed: true, object: await client.apply<T>(resource, guarded, { force: true, signal: options.signal }) }
}

/** Returns the intent as sent: without null and undefined, Secret text encoded as data, its hash as an annotation. */
export function withHash<T extends KubeObject>(desired: T): T {
  const intent = normalizeIntent(desired.kind === 'Secret' ? withEncodedText(desired) : desired) as T
  const annotations = { ...intent.metadata.annotations, [APPLIED_ANNOTATION]: intentHash(intent) }
  return { ...intent, metadata: { ...intent.metadata, annotations } }
}

/** Returns the dotted path of the first field that is not as desired; undefined if all are. */
export function firstMismatchedField(desired: KubeObject, observed: KubeObject): string | undefined {
  return differenceOf(withHash(desired), observed)
}

function differenceOf(intent: KubeObject, observed: KubeObject): string | undefined {
  return firstDifference(comparable(intent), observed)
}

/** Drops the status, which others write, and identity and version, which are observed and not intended. */
function comparable(intent: KubeObject): object {
  const { apiVersion: _apiVersion, kind: _kind, status: _status, metadata, ...rest } = intent
  const { labels, annotations, ownerReferences } = metadata
  return { metadata: { labels, annotations, ownerReferences }, ...rest }
}

/** Leaves the values of Secrets out: many may read the hash, and it could confirm a guess. @param intent compact */
function intentHash(intent: KubeObject): string {
  const { uid: _uid, resourceVersion: _version, ...metadata } = intent.metadata
  const data = intent.kind === 'Secret' && isRecord(intent.data) && { data: Object.keys(intent.data) }
  return createHash('sha256')
    .update(JSON.stringify({ ...intent, metadata, ...data }))
    .digest('hex')
    .slice(0, 32)
}

/** JSON with sorted keys, so that the order in which code builds an object makes no difference. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(sorted(value))
}

// JSON.stringify with a replacer takes twice as long.
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isRecord(value)) return value
  const fields = Object.keys(value).sort()
  return Object.fromEntries(fields.map((field) => [field, sorted(value[field])]))
}

function withEncodedText(secret: KubeObject): KubeObject {
  const { stringData, ...rest } = secret
  if (!isRecord(stringData)) return secret
  const encoded = secretData(stringData as Record<string, string>)
  return { ...rest, data: { ...(isRecord(secret.data) ? secret.data : {}), ...encoded } }
}

/**
 * Drops null and undefined, which server-side apply would take as owned fields, and sorts keys, so that every pass of a
 * controller computes the same hash for the same intent.
 */
function normalizeIntent(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normalizeIntent)
  if (!isRecord(value)) return value
  const kept = Object.keys(value).filter((key) => value[key] !== undefined && value[key] !== null)
  return Object.fromEntries(kept.sort().map((key) => [key, normalizeIntent(value[key])]))
}
