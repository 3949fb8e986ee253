import type { ObjectRef } from '../../core/object.ts'
import type { AnyKind } from '../../crds/define.ts'
import { KINDS } from '../../crds/index.ts'
import { holderOf } from '../../crds/parts.ts'

/** The object that a new object belongs to and is deleted with. */
export type Owner = { kind: AnyKind; ref: ObjectRef }

/** Returns the resource that a part belongs to, such as the account of a bucket; undefined if it is not a part. */
export function parentResourceOf(part: AnyKind, { namespace, name }: ObjectRef, spec: object): Owner | undefined {
  const fields = spec as Readonly<Record<string, unknown>>
  const collection = part.partOf?.collection ?? fields.ownerCollection
  const holder = part.partOf === undefined ? fields.ownerName : holderOf(part, name, spec)
  const kind = KINDS.find(({ placement, segment }) => placement === 'group' && segment === collection)
  return kind === undefined || typeof holder !== 'string' ? undefined : { kind, ref: { namespace, name: holder } }
}
