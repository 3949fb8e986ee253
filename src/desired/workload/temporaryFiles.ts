import { isQuantity, parseQuantity } from '../../core/quantity.ts'

/**
 * Returns the KiB of a volume that temporary files may use; otherwise a reader's queries could fill the volume and
 * block all writes. Undefined if the size is not known.
 *
 * @param divisor the fraction's denominator
 */
export function temporaryKiB(storageSize: string | undefined, divisor: bigint): bigint | undefined {
  if (storageSize === undefined || !isQuantity(storageSize)) return undefined
  return parseQuantity(storageSize) / (1000n * 1024n * divisor)
}
