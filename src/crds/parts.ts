import type { AnyKind } from './define.ts'
import { KINDS } from './index.ts'

/** Returns the kinds whose objects are parts of this kind's resources: buckets and access keys of an account. */
export function partKindsOf({ segment }: AnyKind): AnyKind[] {
  return KINDS.filter(({ partOf }) => partOf !== undefined && partOf.collection === segment)
}

/** Returns the name of the resource that an object is a part of; undefined if it does not say. */
export function holderOf({ partOf }: AnyKind, name: string, spec: unknown): string | undefined {
  if (partOf === undefined) return undefined
  const holder =
    'nameOf' in partOf ? partOf.nameOf(name) : (spec as Record<string, unknown> | undefined)?.[partOf.field]
  return typeof holder === 'string' ? holder : undefined
}
