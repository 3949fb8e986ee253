import { FULL_LABEL } from './labels.ts'
import type { KubeObject } from './object.ts'

/**
 * An object counts once for every 16 KiB of its JSON that it begins. So a limit on the number of objects also limits
 * their bytes, and the size of small objects does not matter.
 */
export const BYTES_PER_COUNTED_OBJECT = 16_384

/** @param object as the API server stores it, including its managed fields */
export function countedObjectsIn(object: KubeObject): number {
  return Math.max(1, Math.ceil(Buffer.byteLength(JSON.stringify(object)) / BYTES_PER_COUNTED_OBJECT))
}

/** How far a full pool of namespaces must fall below its limit before it accepts anything: each switch relabels its namespaces. */
const slackOf = (limit: number) => Math.ceil(limit / 100)

export function isFullWith(held: number, limit: number, wasFull: boolean): boolean {
  return held >= limit || (wasFull && held > limit - slackOf(limit))
}

const LABEL_SEPARATOR = '-of-'

/** The value of the label: the number of objects when it was set, and the limit. */
export const fullLabelValue = (held: number, limit: number) => `${held}${LABEL_SEPARATOR}${limit}`
export const isFullLabelValueFor = (value: string, limit: number) => value.endsWith(`${LABEL_SEPARATOR}${limit}`)

/** A CEL expression for the two numbers of a label value, as strings. */
export const celFullLabelNumbers = (value: string) => `${value}.split('${LABEL_SEPARATOR}')`

/** Whether admission refuses new objects in a namespace. */
export function isFull(namespace: Pick<KubeObject, 'metadata'> | undefined): boolean {
  return namespace?.metadata.labels?.[FULL_LABEL] !== undefined
}
