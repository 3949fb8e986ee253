import { PREFIX } from '../../core/labels.ts'
import type { ObjectMeta } from '../../core/object.ts'
import type { ResourcePath } from './port.ts'

/** What the metadata of a Secret of activity tell, so that lists need not read the content. */

/** On a head, the boundary id of the resource; on a chapter, a constant. */
export const ACTIVITY_LABEL = `${PREFIX}activity`
export const CHAPTER = 'true'
/** The resource of a head, as group/type/name. */
const OF_ANNOTATION = `${PREFIX}activity-of`
/** When the newest entry was added. */
const NEWEST_ANNOTATION = `${PREFIX}newest-entry`
/** Compressed bytes of the content. */
const BYTES_ANNOTATION = `${PREFIX}activity-bytes`

export type Marks = { readonly labels: Record<string, string>; readonly annotations: Record<string, string> }

export function marksOf({ boundaryId, resourceGroup, resourceType, resourceName }: ResourcePath): Marks {
  const of = [resourceGroup, resourceType, resourceName].join('/')
  return { labels: { [ACTIVITY_LABEL]: boundaryId }, annotations: { [OF_ANNOTATION]: of } }
}

export const CHAPTER_MARKS: Marks = { labels: { [ACTIVITY_LABEL]: CHAPTER }, annotations: {} }

/** Returns the marks of content that is written. */
export function contentMarks(newest: string, bytes: number): Record<string, string> {
  return { [NEWEST_ANNOTATION]: newest, [BYTES_ANNOTATION]: String(bytes) }
}

export const isHead = ({ labels }: ObjectMeta) => labels?.[ACTIVITY_LABEL] !== CHAPTER

/** Returns the resource that a head is about. */
export function ownerOf({ labels, annotations }: ObjectMeta): ResourcePath {
  const [resourceGroup = '', resourceType = '', resourceName = ''] = (annotations?.[OF_ANNOTATION] ?? '').split('/')
  return { boundaryId: labels?.[ACTIVITY_LABEL] ?? '', resourceGroup, resourceType, resourceName }
}

export const newestOf = ({ annotations, creationTimestamp }: ObjectMeta): string =>
  annotations?.[NEWEST_ANNOTATION] ?? creationTimestamp ?? ''

/** Of Secrets that an earlier version wrote: about as much as a full chapter. */
const UNKNOWN_BYTES = 16 * 1024

export function bytesOf({ annotations }: ObjectMeta): number {
  const bytes = Number(annotations?.[BYTES_ANNOTATION] ?? Number.NaN)
  return Number.isFinite(bytes) ? bytes : UNKNOWN_BYTES
}

/** Returns the name of a new chapter of a record. */
export const chapterName = (head: string, id: string) => `${head}-${id}`

/** Returns the name of the head of a record, given its head or a chapter. */
export function headOf(metadata: ObjectMeta): string {
  const { name } = metadata
  return isHead(metadata) ? name : name.slice(0, name.lastIndexOf('-'))
}
