import { objectId } from '../core/ids.ts'
import type { AnyKind } from './define.ts'
import { KINDS } from './index.ts'
import { holderOf } from './parts.ts'

type Named = {
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined }
  readonly spec?: unknown
}

/**
 * Returns what paths of REST call an object, and where: `"photos"` in `buckets of "media"`, whatever its name at the
 * API server. Undefined if the name is in the spec, and the spec is missing.
 */
export function restNameOf(kind: AnyKind, { metadata, spec }: Named): { name: string; place: string } | undefined {
  const { collection = kind.segment, by = kind.name === 'free' ? 'id' : 'name' } = kind.restNaming ?? {}
  const fields = { ...(spec as object | undefined), id: objectId(kind.resource, metadata), name: metadata.name }
  const name = (fields as Readonly<Record<string, unknown>>)[by]
  const holder = holderOf(kind, metadata.name, spec)
  if (typeof name !== 'string') return undefined
  return { name, place: holder === undefined ? collection : `${collection} of "${holder}"` }
}

/** Returns the same as the subject of a sentence. @param kind by its name, which no kind of Kubernetes has */
export function sentenceSubjectOf(kind: string | undefined, object: Named): string {
  const known = kind === undefined ? undefined : BY_NAME.get(kind)
  const called = known && restNameOf(known, object)
  return called === undefined ? 'It' : `"${called.name}" of ${called.place}`
}

const BY_NAME = new Map<string, AnyKind>(KINDS.map((kind) => [kind.kind, kind]))
