import { createHash } from 'node:crypto'
import { isRecord } from '../core/isRecord.ts'
import { PREFIX } from '../core/labels.ts'
import type { KubeObject, Resource } from '../core/object.ts'
import { secretData } from '../core/secretData.ts'
import type { CallOptions, KubeClient } from './client.ts'
import { firstDifference } from './compare.ts'
import { isKubeError } from './errors.ts'

/**
 * On what we apply: the hash of the intent, so that a field we no longer want is noticed.
 */
export const APPLIED_ANNOTATION = `${PREFIX}applied`

/** No object has the first version of the store: an apply with it can only create. */
const NONE = '1'

type Applying = Pick<KubeClient, 'apply'>

/**
 * Creates the object by server-side apply if none of that name exists. Undefined if one does: only a
 * look at it tells whose it is. Nothing is overwritten in either case, however stale the caller's view is.
 */
export async function applyNew<T extends KubeObject>(
  client: Applying,
  resource: Resource,
  desired: T,
  options: CallOptions = {},
): Promise<T | undefined> {
  const intent = withHash(desired)
  const guarded = { ...intent, metadata: { ...intent.metadata, resourceVersion: NONE } } as T
  try {
    return await client.apply<T>(resource, guarded, { force: true, signal: options.signal })
  } catch (error) {
    if (isKubeError(error, 'Conflict')) return undefined
    throw error
  }
}

/**
 * Makes an object be as desired by server-side apply, with force, and sends nothing if nothing differs. Whether
 * the object is ours is for the caller to judge.
 *
 * Nothing differs if the annotation carries the hash of this very intent and every desired field is as desired. The
 * comparison alone would not notice a field that we stopped wanting; the hash alone would not notice a stranger's edit.
 *
 * @param observed the object as it was seen; undefined if the API server said that there is none
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
  // With the uid: the API server refuses to change an object that has replaced it, so none is adopted.
  const uid = observed?.metadata.uid
  const guarded = (uid === undefined ? intent : { ...intent, metadata: { ...intent.metadata, uid } }) as T
  return { changed: true, object: await client.apply<T>(resource, guarded, { force: true, signal: options.signal }) }
}

/** The intent as it is sent: nothing null or undefined, Secret text as data, and the hash in its annotation. */
export function withHash<T extends KubeObject>(desired: T): T {
  const intent = compact(desired.kind === 'Secret' ? withEncodedText(desired) : desired) as T
  const annotations = { ...intent.metadata.annotations, [APPLIED_ANNOTATION]: intentHash(intent) }
  return { ...intent, metadata: { ...intent.metadata, annotations } }
}

/** Where an object is first not as desired, as a path in dots; undefined if nothing differs. */
export function firstUnlike(desired: KubeObject, observed: KubeObject): string | undefined {
  return differenceOf(withHash(desired), observed)
}

function differenceOf(intent: KubeObject, observed: KubeObject): string | undefined {
  return firstDifference(comparable(intent), observed)
}

/** Without status, which others write, and the version, which is knowledge and not intent. */
function comparable(intent: KubeObject): object {
  const { apiVersion: _apiVersion, kind: _kind, status: _status, metadata, ...rest } = intent
  const { labels, annotations, ownerReferences } = metadata
  return { metadata: { labels, annotations, ownerReferences }, ...rest }
}

/** Values of Secrets stay out of the hash: many may read it, and it could confirm a guess. @param intent compact */
function intentHash(intent: KubeObject): string {
  const { uid: _uid, resourceVersion: _version, ...metadata } = intent.metadata
  const data = intent.kind === 'Secret' && isRecord(intent.data) && { data: Object.keys(intent.data).sort() }
  return createHash('sha256')
    .update(JSON.stringify({ ...intent, metadata, ...data }))
    .digest('hex')
    .slice(0, 32)
}

/** JSON with sorted keys, so that the order in which code builds an object makes no difference. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(sorted(value))
}

// No replacer of JSON.stringify, which takes twice as long.
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
 * Without null and undefined, which server-side apply would take as owned fields, and with sorted keys: every pass of a
 * controller asks for the hash of the same intent.
 */
function compact(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(compact)
  if (!isRecord(value)) return value
  const kept = Object.keys(value).filter((key) => value[key] !== undefined && value[key] !== null)
  return Object.fromEntries(kept.sort().map((key) => [key, compact(value[key])]))
}
