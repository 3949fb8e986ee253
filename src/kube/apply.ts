import { createHash } from 'node:crypto'
import { PREFIX } from '../core/labels.ts'
import type { KubeObject, Resource } from '../core/object.ts'
import type { CallOptions, KubeClient } from './client.ts'
import { firstDifference, isRecord } from './compare.ts'
import { isKubeError } from './errors.ts'

/**
 * On what we apply: the hash of the intent, so that a field we no longer want is noticed.
 *
 * @internal Tests read it.
 */
export const APPLIED_ANNOTATION = `${PREFIX}applied`

/** No object has the first version of the store: an apply with it can only create. */
const NONE = '1'

type Applying = Pick<KubeClient, 'apply'>

/**
 * Makes the object by server-side apply where none of that name is there. Undefined if one is: whose it is, only a
 * look at it can tell. Nothing is overwritten in either case, however old the caller's knowledge is.
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
 * Makes an object be as desired by server-side apply, with force, and stays silent where nothing differs. Whose the
 * object is, is the caller's to judge.
 *
 * Nothing differs when the annotation carries the hash of this very intent and every desired field is as desired. The
 * comparison alone would not notice a field that we stopped wanting; the hash alone would not notice a stranger's edit.
 *
 * @param observed the object as it was seen; undefined if the API server said that there is none
 * @throws KubeError Conflict where the object was replaced meanwhile
 */
export async function applyIfChanged<T extends KubeObject>(
  client: Applying,
  resource: Resource,
  desired: T,
  observed: T | undefined,
  options: CallOptions = {},
): Promise<{ changed: boolean; object: T }> {
  const intent = withHash(desired)
  if (observed !== undefined && !differs(intent, observed)) return { changed: false, object: observed }
  // With the uid: a namesake that took its place since is refused by the API server instead of adopted.
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

function differs(intent: KubeObject, observed: KubeObject): boolean {
  return firstDifference(comparable(intent), observed) !== undefined
}

/** Status is another's to write, and the version is what the cache knows, not what we want. */
function comparable(intent: KubeObject): object {
  const { apiVersion: _apiVersion, kind: _kind, status: _status, metadata, ...rest } = intent
  const { labels, annotations, ownerReferences } = metadata
  return { metadata: { labels, annotations, ownerReferences }, ...rest }
}

/** Values of Secrets stay out of the hash: it stands where many may read it, and could confirm a guess. */
function intentHash(intent: KubeObject): string {
  const { metadata, ...rest } = intent
  const { uid: _uid, resourceVersion: _version, ...meta } = metadata
  const hashed = rest.kind === 'Secret' && isRecord(rest.data) ? { ...rest, data: Object.keys(rest.data).sort() } : rest
  return createHash('sha256')
    .update(canonicalJson({ metadata: meta, ...hashed }))
    .digest('hex')
    .slice(0, 32)
}

/** JSON with sorted keys, so that the order in which code builds an object makes no difference. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    isRecord(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))) : part,
  )
}

function withEncodedText(secret: KubeObject): KubeObject {
  const { stringData, ...rest } = secret
  if (!isRecord(stringData)) return secret
  const encoded = Object.entries(stringData).map(([key, text]) => [key, Buffer.from(String(text)).toString('base64')])
  return { ...rest, data: { ...(isRecord(secret.data) ? secret.data : {}), ...Object.fromEntries(encoded) } }
}

/** Without null and undefined, which server-side apply would take for a wish to own the absence. */
function compact(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(compact)
  if (!isRecord(value)) return value
  const kept = Object.entries(value).filter(([, part]) => part !== undefined && part !== null)
  return Object.fromEntries(kept.map(([key, part]) => [key, compact(part)]))
}
