import { isRecord } from '../core/isRecord.ts'

/**
 * Whether a parsed answer has the form that everything relies on: an object with metadata, or a list of such. A cluster in the
 * hands of somebody else may send anything.
 */
export function isReadable(answer: unknown): boolean {
  if (!isRecord(answer)) return false
  return hasMetadata(answer) && isListOf(answer.items ?? [], (item) => isRecord(item) && hasMetadata(item))
}

const TEXTS = ['name', 'namespace', 'uid', 'resourceVersion', 'continue', 'creationTimestamp', 'deletionTimestamp']

function hasMetadata({ metadata }: Record<string, unknown>): boolean {
  if (!isRecord(metadata)) return false
  const { labels, annotations, ownerReferences, finalizers } = metadata
  const areTexts = TEXTS.every((field) => isText(metadata[field] ?? ''))
  const areMaps = [labels, annotations].every((map = {}) => isRecord(map) && Object.values(map).every(isText))
  return areTexts && areMaps && isListOf(ownerReferences ?? [], isReference) && isListOf(finalizers ?? [], isText)
}

const isReference = (value: unknown) =>
  isRecord(value) && ['apiVersion', 'kind', 'name', 'uid'].every((field) => isText(value[field]))
const isText = (value: unknown) => typeof value === 'string'
const isListOf = (value: unknown, is: (item: unknown) => boolean) => Array.isArray(value) && value.every(is)
