import { isRecord } from '../core/isRecord.ts'
import type { Resource } from './object.ts'
import { matchesTypeSchema } from './typeSchema.ts'

/** Whether a parsed answer is one of Kubernetes at all: a load balancer before the API server may answer 200 as well. */
export const isOfKubernetes = (answer: unknown): boolean => isRecord(answer) && isRecord(answer.metadata)

/**
 * Whether a parsed answer has the form that all code relies on: an object of the type with metadata, or a list of them.
 * An untrusted cluster may send anything.
 *
 * @param resource undefined if only metadata is expected
 */
export function isWellFormedAnswer(answer: unknown, resource: Resource | undefined): boolean {
  const isObject = (item: unknown) =>
    isRecord(item) && hasMetadata(item) && (resource === undefined || matchesTypeSchema(resource, item))
  if (!isRecord(answer) || !hasMetadata(answer)) return false
  return 'items' in answer ? isListOf(answer.items ?? [], isObject) : isObject(answer)
}

const TEXTS = ['name', 'namespace', 'uid', 'resourceVersion', 'continue']
const TIMES = ['creationTimestamp', 'deletionTimestamp']

function hasMetadata({ metadata }: Record<string, unknown>): boolean {
  if (!isRecord(metadata)) return false
  const { labels, annotations, ownerReferences, finalizers } = metadata
  const areTexts = TEXTS.every((field) => isText(metadata[field] ?? ''))
  const areMaps = [labels, annotations].every((map = {}) => isRecord(map) && Object.values(map).every(isText))
  const areTimes = TIMES.every((field) => isTime(metadata[field] ?? EPOCH))
  return (
    areTexts &&
    areTimes &&
    areMaps &&
    isListOf(ownerReferences ?? [], isReference) &&
    isListOf(finalizers ?? [], isText)
  )
}

const isReference = (value: unknown) =>
  isRecord(value) && ['apiVersion', 'kind', 'name', 'uid'].every((field) => isText(value[field]))
const EPOCH = '1970-01-01T00:00:00Z'
const isTime = (value: unknown) => isText(value) && !Number.isNaN(Date.parse(value as string))
const isText = (value: unknown) => typeof value === 'string'
const isListOf = (value: unknown, is: (item: unknown) => boolean) => Array.isArray(value) && value.every(is)
