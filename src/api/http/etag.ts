import { hash } from 'node:crypto'
import { PlatformError } from '../../core/errors.ts'
import type { ObjectMeta } from '../../core/object.ts'
import { sentenceSubjectOf } from '../../crds/restNames.ts'

type Versioned = { metadata: ObjectMeta }
/** An object, with what refusals need to name it. */
type NamedObject = Versioned & { kind: string; spec?: unknown }

/** The version of an object that a caller has seen: the start of its uid, and its generation. */
export type SeenVersion = { readonly uidPrefix: string; readonly generation: number }

/** A recreated object counts its generations from 1 again, so a generation alone does not identify a version. */
export function versionOf({ metadata }: Versioned): SeenVersion {
  return { uidPrefix: metadata.uid?.slice(0, 8) ?? '0', generation: metadata.generation ?? 1 }
}

/**
 * `"<generation>-<resourceVersion>-<uidPrefix>"`. If-Match compares the generation, which changes with the spec, and the
 * start of the uid; the resource version only makes tags differ with the status. It is opaque to clients.
 */
export function etagOf(object: Versioned): string {
  const { uidPrefix, generation } = versionOf(object)
  return `"${generation}-${object.metadata.resourceVersion ?? '0'}-${uidPrefix}"`
}

/** Returns the ETag header of a record that may not have an object. */
export const etagHeader = (object: Versioned | undefined) => (object === undefined ? {} : { etag: etagOf(object) })

/** Returns the tag of something without a custom resource, such as a person of another provider, from its content. */
export function contentTag(content: string | Buffer): string {
  return `"${hash('sha256', content, 'base64url').slice(0, 22)}"`
}

/** One tag in a list of tags (RFC 9110 section 8.8.3); a weak tag never matches an If-Match. */
const TAG = /(W\/)?"([^"]*)"/g

const tagsIn = (header: string) =>
  [...header.matchAll(TAG)].map(([, weak, tag = '']) => ({ isWeak: weak !== undefined, tag }))

/**
 * Returns the versions that an If-Match header names; undefined without the header or with `*`. Weak and foreign tags
 * name no version, so that the precondition fails.
 */
export function parseIfMatch(header: string | undefined): readonly SeenVersion[] | undefined {
  if (header === undefined || header.trim() === '*') return undefined
  return tagsIn(header).flatMap(({ isWeak, tag }) => {
    const [, generation, uidPrefix] = /^([0-9]{1,15})-[0-9A-Za-z]{1,40}-(.{1,8})$/.exec(tag) ?? []
    return isWeak || generation === undefined || uidPrefix === undefined
      ? []
      : [{ uidPrefix, generation: Number(generation) }]
  })
}

/** Whether an If-Match header names a tag that is not an object's, such as one of `contentTag`. */
export function ifMatchIncludesTag(header: string | undefined, wanted: string): boolean {
  return header !== undefined && tagsIn(header).some(({ isWeak, tag }) => !isWeak && `"${tag}"` === wanted)
}

/** Whether the object is at one of the versions. */
export function matchesAnyVersion(versions: readonly SeenVersion[], object: Versioned): boolean {
  const { uidPrefix, generation } = versionOf(object)
  return versions.some((seen) => seen.uidPrefix === uidPrefix && seen.generation === generation)
}

/** Whether a version may be newer than the object: a higher generation, or another uid, which has no order. */
export function mayBeNewer(versions: readonly SeenVersion[], object: Versioned): boolean {
  const { uidPrefix, generation } = versionOf(object)
  return versions.some((seen) => seen.uidPrefix !== uidPrefix || seen.generation > generation)
}

/** The refusal of an If-Match that does not name the current version. */
export function staleVersion(current: NamedObject): PlatformError {
  const message = `${sentenceSubjectOf(current.kind, current)} has changed since it was read; read it again, and send its ETag in If-Match.`
  return new PlatformError('CONFLICT', message, { currentVersion: etagOf(current) })
}

/** For a record of several objects: If-Match must name a version of one of them. @throws PlatformError CONFLICT */
export function refuseStale(objects: readonly NamedObject[], ifMatch: readonly SeenVersion[] | undefined): void {
  const [first] = objects
  if (first !== undefined && ifMatch !== undefined && !objects.some((one) => matchesAnyVersion(ifMatch, one)))
    throw staleVersion(first)
}

/**
 * The refusal of an If-Match on something that does not exist: it is false whatever it names (RFC 9110 section 13.1.1).
 *
 * @param advice what the caller can do, unless the request would create it
 */
export function nothingToMatch(advice = 'leave the header out to create it'): PlatformError {
  const message = `If-Match needs something that exists, and this does not: ${advice}.`
  return new PlatformError('CONFLICT', message)
}
