import { isQuantity, parseQuantity } from '../../core/quantity.ts'

/**
 * KiB of a volume that temporary files of queries may take: a reader of a database could fill it otherwise, and nobody could
 * write any more. Undefined if the size is not known.
 *
 * @param divisor which part of the volume
 */
export function temporaryKiB(storageSize: string | undefined, divisor: bigint): bigint | undefined {
  if (storageSize === undefined || !isQuantity(storageSize)) return undefined
  return parseQuantity(storageSize) / (1000n * 1024n * divisor)
}
