import type { ObjectRef } from '../../core/object.ts'
import type { AnyKind } from '../../crds/define.ts'
import { KINDS } from '../../crds/index.ts'

/** Of what a new object is a part, so that it goes with it. */
export type Owner = { kind: AnyKind; ref: ObjectRef }

/** The resource that holds the object, such as the account of a bucket; undefined for one that stands alone. */
export function wholeOf({ partOf }: AnyKind, { namespace, name }: ObjectRef, spec: object): Owner | undefined {
  const fields = spec as Readonly<Record<string, unknown>>
  const collection = partOf?.collection ?? fields.ownerCollection
  const holder =
    partOf === undefined ? fields.ownerName : 'nameOf' in partOf ? partOf.nameOf(name) : fields[partOf.field]
  const kind = KINDS.find(({ placement, segment }) => placement === 'group' && segment === collection)
  return kind === undefined || typeof holder !== 'string' ? undefined : { kind, ref: { namespace, name: holder } }
}
