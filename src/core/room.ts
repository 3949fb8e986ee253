import { FULL_LABEL } from './labels.ts'
import type { KubeObject } from './object.ts'

/**
 * An object counts once for each of these bytes that it has begun, as the API server tells of it. So a limit of objects
 * is one of bytes as well, and whoever keeps them small need not think of it.
 */
export const COUNTED_BYTES = 16_384

/** @param object with all that the API server keeps of it, such as its managed fields */
export function countsAs(object: KubeObject): number {
  return Math.max(1, Math.ceil(Buffer.byteLength(JSON.stringify(object)) / COUNTED_BYTES))
}

/** How far a full place must be below the most before it takes anything: its namespaces are marked anew each time. */
const slackOf = (most: number) => Math.ceil(most / 100)

export function isFullWith(held: number, most: number, wasFull: boolean): boolean {
  return held >= most || (wasFull && held > most - slackOf(most))
}

const BETWEEN = '-of-'

/** What the label says: how many there were when it was put on, and the most. */
export const fullMark = (held: number, most: number) => `${held}${BETWEEN}${most}`
export const isMarkOf = (mark: string, most: number) => mark.endsWith(`${BETWEEN}${most}`)

/** CEL of the two numbers of a mark, as texts. */
export const markNumbers = (mark: string) => `${mark}.split('${BETWEEN}')`

/** Whether a namespace takes nothing more. */
export function isFull(namespace: Pick<KubeObject, 'metadata'> | undefined): boolean {
  return namespace?.metadata.labels?.[FULL_LABEL] !== undefined
}
