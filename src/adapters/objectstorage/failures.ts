import { StoreError } from './port.ts'

type AwsFailure = { name?: string; $metadata?: { httpStatusCode?: number } }

/** Returns the error code of S3 or IAM. Some SDK errors append `Exception` to the code of the protocol. */
function codeOf(error: unknown): string {
  const name = (error as AwsFailure | null)?.name
  return typeof name === 'string' ? name.replace(/Exception$/, '') : ''
}

const statusOf = (error: unknown) => (error as AwsFailure | null)?.$metadata?.httpStatusCode

/** Without `NotFound`, the code of every 404 without words of the store, such as that of a load balancer before it. */
const ABSENT_CODES = ['NoSuchBucket', 'NoSuchEntity', 'NoSuchKey']

/** Codes for exceeded limits of S3 and IAM; in versitygw also for an attribute that the file system cannot hold. */
const LIMIT_CODES = ['InsufficientStorage', 'PolicyTooLarge', 'LimitExceeded']

/** Refusals that are not the user's fault: a policy names a principal that was just deleted. */
const INTERNAL_CODES = ['MalformedPolicy', 'MalformedPolicyDocument']

/**
 * Runs a call and translates its error. Codes in `ignored` return undefined: what was to be deleted is gone, or what
 * was to be created exists.
 *
 * @param what what failed and for which object: `The policy of bucket "x" could not be read`
 */
export async function attempt<T>(
  what: string,
  call: () => Promise<T>,
  ignored: readonly string[] = [],
): Promise<T | undefined> {
  try {
    return await call()
  } catch (error) {
    const code = codeOf(error)
    if (ignored.includes(code)) return undefined
    throw failureOf(what, code, error)
  }
}

function failureOf(what: string, code: string, error: unknown): StoreError {
  if (ABSENT_CODES.includes(code)) return new StoreError('NotFound', `${what}: the store does not know it.`, error)
  if (code === 'BucketAlreadyExists') return new StoreError('Taken', `${what}: the name is taken.`, error)
  const status = statusOf(error)
  if (status === 507 || LIMIT_CODES.includes(code))
    return new StoreError('Full', `${what}: the store has no room for it.`, error)
  // 500 is the store's own failure; other 5xx come from a proxy, or a store that is starting.
  if (status === 500) return new StoreError('Failed', `${what}: the store failed (500).`, error)
  if (status === undefined || status >= 500 || status === 429 || code === 'SlowDown') {
    return new StoreError(
      'Unreachable',
      `${what}: the store did not answer${status === undefined ? '' : ` (${status})`}.`,
      error,
    )
  }
  return new StoreError(
    status === 400 && !INTERNAL_CODES.includes(code) ? 'Invalid' : 'Refused',
    `${what}: the store refused it (${status}${/^\w{1,64}$/.test(code) ? ` ${code}` : ''}).`,
    error,
  )
}
