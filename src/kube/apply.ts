import { createHash } from 'node:crypto'
import { OWNER_INCARNATION_ANNOTATION, PREFIX } from '../core/labels.ts'
import { type KubeObject, keyOf, type Resource, refOf, resourceId } from '../core/object.ts'
import type { CallOptions, KubeClient } from './client.ts'
import { firstDifference, isRecord } from './compare.ts'
import { isKubeError } from './errors.ts'

/** On what we apply: the hash of the intent, so that a field we no longer want is noticed. */
export const APPLIED_ANNOTATION = `${PREFIX}applied`

/** Whose child an object must be: an owner reference with the uid or, across namespaces and restores, the incarnation. */
export type Ownership = { uid?: string | undefined; incarnation?: string | undefined }

/** The name is taken by an object that is not ours; it is never adopted. */
export class NotOurs extends Error {
  readonly resource: Resource
  readonly key: string

  constructor(resource: Resource, object: KubeObject) {
    super(`The name of ${resourceId(resource)} "${keyOf(object)}" is taken by an object that is not ours.`)
    this.name = 'NotOurs'
    this.resource = resource
    this.key = keyOf(object)
  }
}

/** By the owner's uid, or by its incarnation, which a child still carries after a restore from backup. */
export function isOwnedBy(object: KubeObject, { uid, incarnation }: Ownership): boolean {
  if (uid !== undefined && object.metadata.ownerReferences?.some((owner) => owner.uid === uid)) return true
  return incarnation !== undefined && object.metadata.annotations?.[OWNER_INCARNATION_ANNOTATION] === incarnation
}

export type ApplyIfChangedOptions = CallOptions & {
  /** Left out: whatever has the name is taken as ours (installation of manifests). */
  owner?: Ownership
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
 * @throws NotOurs where another's object has the name; KubeError Conflict where the object was replaced meanwhile
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
  if (options.owner !== undefined && !isOwnedBy(present, options.owner)) throw new NotOurs(resource, present)
  if (!differs(intent, present)) return { changed: false, object: present }
  // With the uid: a namesake that took its place since is refused by the API server instead of adopted.
  const guarded = { ...intent, metadata: { ...intent.metadata, uid: present.metadata.uid } } as T
  return { changed: true, object: await client.apply<T>(resource, guarded, { force: true, signal: options.signal }) }
}

/** The path of the first difference, for logs; undefined where an apply would change nothing. */
export function differenceOf(desired: KubeObject, observed: KubeObject): string | undefined {
  return firstDifference(comparable(withHash(desired)), observed)
}

/** The intent as it is sent: nothing null or undefined, Secret text as data, and the hash in its annotation. */
export function withHash<T extends KubeObject>(desired: T): T {
  const intent = compact(desired.kind === 'Secret' ? withEncodedText(desired) : desired) as T
  const annotations = { ...intent.metadata.annotations, [APPLIED_ANNOTATION]: intentHash(intent) }
  return { ...intent, metadata: { ...intent.metadata, annotations } }
}

/**
 * Deletes those of the objects that are ours and not to be kept, each with its uid and version, so that neither a
 * namesake nor something that changed since it was judged is hit.
 *
 * @returns the names that were deleted
 * @throws KubeError Conflict where one changed meanwhile: look again
 */
export async function prune(
  client: Pick<KubeClient, 'remove'>,
  resource: Resource,
  objects: Iterable<KubeObject>,
  options: CallOptions & { owner: Ownership; keep: ReadonlySet<string> | readonly string[] },
): Promise<string[]> {
  const keep = new Set(options.keep)
  const pruned: string[] = []
  for (const object of objects) {
    const { name, uid, resourceVersion, deletionTimestamp } = object.metadata
    if (keep.has(name) || deletionTimestamp !== undefined || !isOwnedBy(object, options.owner)) continue
    await client.remove(resource, refOf(object), { uid, resourceVersion, signal: options.signal })
    pruned.push(name)
  }
  return pruned
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
