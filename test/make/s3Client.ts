import { GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import type { AccessKeyPair } from '../../src/contracts/objectstorage.ts'
import type { StoreClient } from '../suites/objectStoreContract.ts'

/** An ordinary S3 client. `destroy` it. */
export function s3Client(endpoint: string, credentials: AccessKeyPair & { sessionToken?: string }): S3Client {
  return new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials, maxAttempts: 1 })
}

/** The HTTP status of an S3 call. */
export async function statusOf(call: Promise<unknown>): Promise<number> {
  try {
    await call
    return 200
  } catch (error) {
    const status = (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode
    if (status === undefined) throw error
    return status
  }
}

/** Reads and writes one character with a given key pair. */
export function clientOf(endpoint: string): StoreClient {
  return async (pair, what, Bucket, given) => {
    if (pair === undefined) {
      const url = `${endpoint}/${Bucket}/${encodeURIComponent(given.toString())}`
      return (await fetch(url, what === 'read' ? {} : { method: 'PUT', body: 'x' })).status
    }
    const client = s3Client(endpoint, pair)
    if (typeof given !== 'string') sendExact(client, Bucket, given)
    const Key = given.toString()
    const command =
      what === 'read' ? new GetObjectCommand({ Bucket, Key }) : new PutObjectCommand({ Bucket, Key, Body: 'x' })
    try {
      return await statusOf(client.send(command as GetObjectCommand))
    } finally {
      client.destroy()
    }
  }
}

/** From now on the client requests an object with this key, which need not be text. */
function sendExact(client: S3Client, bucket: string, key: Buffer): void {
  const encoded = [...key].map((byte) => {
    const character = String.fromCharCode(byte)
    return /[a-z/]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  })
  const path = `/${bucket}/${encoded.join('')}`
  client.middlewareStack.add(
    (next) => (args) => next({ ...args, request: Object.assign(args.request as object, { path }) }),
    {
      step: 'build',
    },
  )
}
