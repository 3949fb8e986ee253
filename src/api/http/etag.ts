import type { ObjectMeta } from '../../core/object.ts'

/** `"<generation>-<resourceVersion>"`: the first part is the intent that If-Match compares, the second tells versions apart. */
export function etagOf(object: { metadata: ObjectMeta }): string {
  return `"${object.metadata.generation ?? 1}-${object.metadata.resourceVersion ?? '0'}"`
}

/**
 * The generation that an If-Match header names; undefined without the header or with `*`. A weak tag or one that is not
 * ours matches nothing, which -1 says.
 */
export function parseIfMatch(header: string | undefined): number | undefined {
  if (header === undefined || header.trim() === '*') return undefined
  const match = /^\s*"([0-9]{1,15})-[0-9A-Za-z]{1,40}"\s*$/.exec(header)
  return match === null ? -1 : Number(match[1])
}
