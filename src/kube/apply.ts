import { createHash } from 'node:crypto'
import { PREFIX } from '../core/labels.ts'
import { type KubeObject, type Resource, refOf } from '../core/object.ts'
import type { CallOptions, KubeClient } from './client.ts'
import { firstDifference, isRecord } from './compare.ts'
import { isKubeError } from './errors.ts'

/** On what we apply: the hash of the intent, so that a field we no longer want is noticed. */
export const APPLIED_ANNOTATION = `${PREFIX}applied`

export type ApplyIfChangedOptions = CallOptions & {
  /**
   * What `observed: undefined` means: by default "not in the cache, which may be behind", and the API server is asked
   * once more before the first apply, because a server-side apply cannot demand that nothing is there. True: known to
   * be absent.
   */
  absent?: boolean
}

/**
 * Makes an object be as desired by server-side apply, with force, and stays silent where nothing differs.
 *
 * Nothing differs when the annotation carries the hash of this very intent and every desired field is as desired. The
 * comparison alone would not notice a field that we stopped wanting; the hash alone would not notice a stranger's edit.
 *
 * @param observed the object as the cache has it
 * @throws KubeError Conflict where the object was replaced meanwhile
 */
export async function applyIfChanged<T extends KubeObject>(
  client: Pick<KubeClient, 'get' | 'apply'>,
  resource: Resource,
  desired: T,
  observed: T | undefined,
  options: ApplyIfChangedOptions = {},
): Promise<{ changed: boolean; object: T }> {
  const intent = withHash(desired)
  const present = observed ?? (options.absent === true ? undefined : await read<T>(client, resource, desired, options))
  if (present === undefined) {
    return { changed: true, object: await client.apply<T>(resource, intent, { force: true, signal: options.signal }) }
  }
  if (!differs(intent, present)) return { changed: false, object: present }
  // With the uid: a namesake that took its place since is refused by the API server instead of adopted.
  const guarded = { ...intent, metadata: { ...intent.metadata, uid: present.metadata.uid } } as T
  return { changed: true, object: await client.apply<T>(resource, guarded, { force: true, signal: options.signal }) }
}

/** The intent as it is sent: nothing null or undefined, Secret text as data, and the hash in its annotation. */
export function withHash<T extends KubeObject>(desired: T): T {
  const intent = compact(desired.kind === 'Secret' ? withEncodedText(desired) : desired) as T
  const annotations = { ...intent.metadata.annotations, [APPLIED_ANNOTATION]: intentHash(intent) }
  return { ...intent, metadata: { ...intent.metadata, annotations } }
}

async function read<T extends KubeObject>(
  client: Pick<KubeClient, 'get'>,
  resource: Resource,
  desired: T,
  options: CallOptions,
): Promise<T | undefined> {
  try {
    return await client.get<T>(resource, refOf(desired), { signal: options.signal })
  } catch (error) {
    if (isKubeError(error, 'NotFound') && !error.typeMissing) return undefined
    throw error
  }
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

/** JSON with sorted keys, so that the order in which code builds an object is no difference. */
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
