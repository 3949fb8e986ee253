import { hash } from 'node:crypto'
import type { ChildStem } from './childStems.ts'
import { createLruCache } from './lruCache.ts'

/** RFC 1123 label of at most 52 characters: room for the suffixes that workloads add before the limit of 63. */
export const RESOURCE_NAME_PATTERN = '^[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?$'
export const RESOURCE_NAME_MAX_LENGTH = 52
const RESOURCE_NAME = new RegExp(RESOURCE_NAME_PATTERN)

/** The pattern of names with at least `minLength` characters. */
export const resourceNamePattern = (minLength = 1) =>
  minLength < 2
    ? RESOURCE_NAME_PATTERN
    : `^[a-z0-9][a-z0-9-]{${minLength - 2},${RESOURCE_NAME_MAX_LENGTH - 2}}[a-z0-9]$`

/** The rule for a resource name, in words. @param minLength the fewest characters, if more than one */
export const resourceNameRule = (minLength = 1) =>
  `must have ${minLength} to ${RESOURCE_NAME_MAX_LENGTH} lower-case letters, digits and hyphens and begin and end with a letter or digit`

/** RFC 9562, lower case only: two spellings of one id would be two keys. */
export const UUID_PATTERN = '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'
const UUID = new RegExp(UUID_PATTERN)

export function isResourceName(text: string): boolean {
  return RESOURCE_NAME.test(text)
}

export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** Where platform-root objects, our own workloads and their secrets live. */
export const SYSTEM_NAMESPACE = 'freehold-system'

/** The namespace of a boundary's own objects (assignments, resource groups, sources). */
export function boundaryNamespace(boundaryId: string): string {
  return `boundary-${boundaryId}`
}

/** The boundary that a boundary namespace belongs to, or undefined for any other namespace. */
export function boundaryOfNamespace(namespace: string): string | undefined {
  const id = namespace.startsWith('boundary-') ? namespace.slice('boundary-'.length) : ''
  return isUuid(id) ? id : undefined
}

/** The boundary of an object in a boundary namespace; empty for any other. */
export function boundaryIdOf({ namespace = '' }: { readonly namespace?: string }): string {
  return boundaryOfNamespace(namespace) ?? ''
}

/**
 * The namespace of a resource group's resources. The hash keeps equal group names of two boundaries apart and cannot be
 * chosen by a tenant. With the longest name of a group, the whole is just short enough for a label.
 */
export function groupNamespace(boundaryId: string, group: string): string {
  const path = `${boundaryId}/${group}`
  const known = groupNamespaces.get(path)
  if (known !== undefined) return known
  const namespace = `${group}-${sha256(path).slice(0, GROUP_HASH_LENGTH)}`
  groupNamespaces.set(path, namespace)
  return namespace
}

const GROUP_HASH_LENGTH = 10

/** Matches the names that `groupNamespace` returns. */
export const GROUP_NAMESPACE_PATTERN = `^[a-z0-9-]+-[0-9a-f]{${GROUP_HASH_LENGTH}}$`

/** Cuts the hash off a group's namespace. */
export const groupOfNamespace = (namespace: string): string => namespace.slice(0, -(GROUP_HASH_LENGTH + 1))

/** Cached because every request needs one. */
const groupNamespaces = createLruCache<string, string>(10_000)

const CHILD_NAME_MAX_LENGTH = 50
/** Hexadecimal digits: enough that nobody can find two names with the same hash. */
const HASH_LENGTH = 16
const ENDS_LIKE_A_HASH = new RegExp(`-[0-9a-f]{${HASH_LENGTH}}$`)

/**
 * Returns the name of a child object: `<short name of the kind>-<name>`, so that two kinds never collide. Longer names
 * are cut and end with a hash of the whole, because StatefulSets append to them (pod ordinals, revision labels of 63
 * characters). Names that look as if they had been cut are hashed too; otherwise a resource could be named so that its
 * children collide with those of another.
 */
export function childName(shortName: ChildStem, name: string, suffix = ''): string {
  const whole = `${shortName}-${name}`
  const isWhole = whole.length <= CHILD_NAME_MAX_LENGTH && !ENDS_LIKE_A_HASH.test(whole)
  const cut = () => whole.slice(0, CHILD_NAME_MAX_LENGTH - HASH_LENGTH - 1).replace(/-+$/, '')
  const stem = isWhole ? whole : `${cut()}-${sha256(whole).slice(0, HASH_LENGTH)}`
  return suffix === '' ? stem : `${stem}-${suffix}`
}

export function sha256(content: string | Uint8Array): string {
  return hash('sha256', content)
}

/** A domain as hosts below it are compared: in lower case, of one label or more. */
export const DOMAIN = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/
