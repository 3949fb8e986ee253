/** A Kubernetes quantity: the API server's grammar without negative numbers and without exponents such as `1e3`. */
export const QUANTITY_PATTERN = '^[0-9]{1,15}(\\.[0-9]{1,9})?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$'
const QUANTITY = new RegExp(QUANTITY_PATTERN)

/** Billionths of the unit. Only metrics-server writes `n` and `u`: requests are never so small. */
const MULTIPLIER: Record<string, bigint> = {
  n: 1n,
  u: 1000n,
  m: 1000n ** 2n,
  '': 1000n ** 3n,
  k: 1000n ** 4n,
  M: 1000n ** 5n,
  G: 1000n ** 6n,
  T: 1000n ** 7n,
  P: 1000n ** 8n,
  E: 1000n ** 9n,
  Ki: 1000n ** 3n * 1024n,
  Mi: 1000n ** 3n * 1024n ** 2n,
  Gi: 1000n ** 3n * 1024n ** 3n,
  Ti: 1000n ** 3n * 1024n ** 4n,
  Pi: 1000n ** 3n * 1024n ** 5n,
  Ei: 1000n ** 3n * 1024n ** 6n,
}
const BILLIONTHS_PER_THOUSANDTH = 1000n ** 2n

export function isQuantity(text: string): boolean {
  return QUANTITY.test(text)
}

/**
 * The quantity in thousandths of its unit (millicores, thousandths of a byte), exactly.
 *
 * @throws RangeError if the text is not a quantity; callers check input with `isQuantity` first
 */
export function parseQuantity(text: string): bigint {
  const match = /^([0-9]+)(?:\.([0-9]+))?([A-Za-z]*)$/.exec(text)
  const multiplier = MULTIPLIER[match?.[3] ?? '?']
  if (match === null || multiplier === undefined) throw new RangeError(`"${text}" is not a Kubernetes quantity.`)
  const fraction = match[2] ?? ''
  const scaled = BigInt(`${match[1]}${fraction}`) * multiplier
  const divisor = BILLIONTHS_PER_THOUSANDTH * 10n ** BigInt(fraction.length)
  // Kubernetes rounds up to the next thousandth, so that a request is never less than what was written.
  return (scaled + divisor - 1n) / divisor
}

/** CPU usage as metrics-server writes it. */
const FINE = /^[0-9]{1,18}[nu]$/

/** Like `parseQuantity`, for values of another system; 0 if the text is not a quantity, or too long for one. */
export function parseForeignQuantity(text: string | undefined): bigint {
  return text !== undefined && (isQuantity(text) || FINE.test(text)) ? parseQuantity(text) : 0n
}

/** Negative, zero or positive, as `a` is less than, equal to or more than `b`. */
export function compareQuantities(a: string, b: string): number {
  const difference = parseQuantity(a) - parseQuantity(b)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

/** Writes thousandths as cores (`1500m`, `2`). */
export function formatCores(thousandths: bigint): string {
  return thousandths % 1000n === 0n ? String(thousandths / 1000n) : `${thousandths}m`
}

/** Writes thousandths of a byte with the largest binary unit that divides them. */
export function formatBytes(thousandths: bigint): string {
  const bytes = thousandths / 1000n
  for (const [unit, size] of [
    ['Ti', 1024n ** 4n],
    ['Gi', 1024n ** 3n],
    ['Mi', 1024n ** 2n],
    ['Ki', 1024n],
  ] as const) {
    if (bytes !== 0n && bytes % size === 0n) return `${bytes / size}${unit}`
  }
  return String(bytes)
}
