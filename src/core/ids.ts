import { createHash } from 'node:crypto'
import { isUuid } from './names.ts'

/** Namespace of all derived ids. Changing it changes every id that callers have stored. */
const ID_NAMESPACE = '6f1c3a52-0f0e-5d67-9b2e-3c1f2f8f7a10'

/** RFC 9562 section 5.5: a name-based uuid (version 5, SHA-1). */
export function uuidV5(name: string, namespace: string = ID_NAMESPACE): string {
  const bytes = createHash('sha1')
    .update(Buffer.from(namespace.replaceAll('-', ''), 'hex'))
    .update(name)
    .digest()
    .subarray(0, 16)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  return uuidOf(bytes)
}

export function uuidOf(bytes: Buffer): string {
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/**
 * Returns the id that the interface shows for an object: its name if that is a uuid, otherwise a uuid derived from its
 * group, kind, namespace and name. Never `metadata.uid`, which does not survive a restore from backup.
 */
export function idOf(object: { kind: string; group: string; namespace?: string | undefined; name: string }): string {
  if (isUuid(object.name)) return object.name
  return uuidV5([object.group, object.kind, object.namespace ?? '', object.name].join('/'))
}

type Named = { readonly namespace?: string | undefined; readonly name: string }

/** Ids by metadata of cached objects, which are frozen: a followed list asks for the id of each row after each change. */
const knownIds = new WeakMap<Named, string>()

/** Returns the id of an object, given its type and metadata. */
export function objectId({ group, kind }: { group: string; kind: string }, metadata: Named): string {
  const known = knownIds.get(metadata)
  if (known !== undefined) return known
  const { namespace, name } = metadata
  const id = idOf({ kind, group, namespace, name })
  if (Object.isFrozen(metadata)) knownIds.set(metadata, id)
  return id
}
