import type { ObjectMeta } from '../../core/object.ts'

/** `"<generation>-<resourceVersion>"`: the first part is the intent that If-Match compares, the second tells versions apart. */
export function etagOf(object: { metadata: ObjectMeta }): string {
  return `"${object.metadata.generation ?? 1}-${object.metadata.resourceVersion ?? '0'}"`
}

/** A tag of a list (RFC 9110 section 8.8.3); a weak one never matches an If-Match. */
const TAG = /(W\/)?"([^"]*)"/g

const tagsIn = (header: string) =>
  [...header.matchAll(TAG)].map(([, weak, tag = '']) => ({ isWeak: weak !== undefined, tag }))

/**
 * The generations that an If-Match header names; undefined without the header or with `*`. None of a list of tags that
 * are weak or not ours is a generation, so that the precondition fails.
 */
export function parseIfMatch(header: string | undefined): readonly number[] | undefined {
  if (header === undefined || header.trim() === '*') return undefined
  return tagsIn(header).flatMap(({ isWeak, tag }) => {
    const generation = /^([0-9]{1,15})-[0-9A-Za-z]{1,40}$/.exec(tag)?.[1]
    return isWeak || generation === undefined ? [] : [Number(generation)]
  })
}
