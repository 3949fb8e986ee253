import { StoreError } from './port.ts'

type AwsFailure = { name?: string; $metadata?: { httpStatusCode?: number } }

/** The code of S3 or IAM that a call failed with. Some carry `Exception` behind the name that the protocol has. */
function codeOf(error: unknown): string {
  const name = (error as AwsFailure | null)?.name
  return typeof name === 'string' ? name.replace(/Exception$/, '') : ''
}

const statusOf = (error: unknown) => (error as AwsFailure | null)?.$metadata?.httpStatusCode

const ABSENT = ['NoSuchBucket', 'NoSuchEntity', 'NotFound', 'NoSuchKey']

/** S3 and IAM for what is larger than they keep; versitygw for an attribute that a file system cannot hold. */
const FULL = ['InsufficientStorage', 'PolicyTooLarge', 'LimitExceeded']

/** Refusals of what the platform writes, whatever its user asked for: a policy that names somebody who just went. */
const OURS = ['MalformedPolicy', 'MalformedPolicyDocument']

/**
 * Runs a call and turns its failure into ours. Codes in `ignored` count as no answer: what was to go is gone, what was
 * to be there is there.
 *
 * @param what what failed, for which thing: `The policy of bucket "x" could not be read`
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
  if (ABSENT.includes(code)) return new StoreError('NotFound', `${what}: the store does not know it.`, error)
  if (code === 'BucketAlreadyExists') return new StoreError('Taken', `${what}: the name is taken.`, error)
  const status = statusOf(error)
  if (status === 507 || FULL.includes(code))
    return new StoreError('Full', `${what}: the store has no room for it.`, error)
  // Not one that a proxy gives, or a store that is starting.
  if (status === 500) return new StoreError('Failed', `${what}: the store failed (500).`, error)
  if (status === undefined || status >= 500 || status === 429 || code === 'SlowDown') {
    return new StoreError(
      'Unreachable',
      `${what}: the store did not answer${status === undefined ? '' : ` (${status})`}.`,
      error,
    )
  }
  return new StoreError(
    status === 400 && !OURS.includes(code) ? 'Invalid' : 'Refused',
    `${what}: the store refused it (${status}${/^\w{1,64}$/.test(code) ? ` ${code}` : ''}).`,
    error,
  )
}
