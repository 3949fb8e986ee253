import { lookup as resolve } from 'node:dns'
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { pipeline, type Readable, Transform } from 'node:stream'
import type { S3Client } from '@aws-sdk/client-s3'
import { isInsideAddress } from '../../core/insideAddress.ts'
import { unlessAborted } from '../../core/unlessAborted.ts'
import { addressNotAllowed, vettedLookup } from '../outgoing/vettedLookup.ts'
import type { BackupTargets, TargetAccess, TargetTestResult } from './port.ts'
import { testResult, testResultOf } from './testResult.ts'

export type TargetOptions = {
  /** Milliseconds for the whole test; 10 s (interface section 8). */
  timeout?: number
  lookup?: typeof resolve
}

/** A page with one key takes a few kilobytes; a server that sends more is not an object store. */
const ANSWER_MAX_BYTES = 1024 * 1024

/** Tests a target with one request that covers everything: address, certificate, key, bucket and permission to list. */
export function createBackupTargets({ timeout = 10_000, lookup = resolve }: TargetOptions = {}): BackupTargets {
  return {
    async test(target) {
      try {
        const { hostname } = new URL(target.endpoint)
        const literal = hostname.replace(/^\[|\]$/g, '')
        // A connection to an IP address does no look-up, so `vettedLookup` would not run.
        if (isIP(literal) !== 0 && !isInsideAddress(literal)) throw addressNotAllowed()
        return await list(target, timeout, vettedLookup(lookup, isInsideAddress))
      } catch (error) {
        return testResultOf(error)
      }
    },
  }
}

async function list(target: TargetAccess, timeout: number, lookup: LookupFunction): Promise<TargetTestResult> {
  // Own deadline: it covers name resolution and the TLS handshake as well as the answer.
  const abortSignal = AbortSignal.timeout(timeout)
  const { S3Client, ListObjectsV2Command } = await import('@aws-sdk/client-s3')
  const { caCertificate: ca, accessKeyId, secretAccessKey, endpoint, region, forcePathStyle } = target
  const agents = {
    httpAgent: new HttpAgent({ lookup }),
    httpsAgent: new HttpsAgent({ lookup, ...(ca !== undefined && { ca }) }),
  }
  const s3 = new S3Client({
    ...{ endpoint, region, forcePathStyle, maxAttempts: 1 },
    credentials: { accessKeyId, secretAccessKey },
    requestHandler: agents,
  })
  limitResponses(s3)
  try {
    const { bucket: Bucket, prefix } = target
    const input = { Bucket, MaxKeys: 1, ...(prefix !== undefined && { Prefix: `${prefix}/` }) }
    // The client ignores the signal while it reads an answer.
    const listing = s3.send(new ListObjectsV2Command(input), { abortSignal })
    const answer = await unlessAborted(listing, abortSignal)
    // A server that answers 200 to everything is not a store.
    return answer.Name === undefined && answer.KeyCount === undefined ? testResult('Unreachable') : testResult('Ok')
  } finally {
    s3.destroy()
    for (const agent of Object.values(agents)) agent.destroy()
  }
}

/** Bounds the answer: the client buffers all of it before it parses it. */
function limitResponses(s3: S3Client): void {
  s3.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args)
      const response = result.response as { body?: Readable }
      if (typeof response.body?.pipe === 'function')
        response.body = pipeline(response.body, limitBytes(ANSWER_MAX_BYTES), () => {})
      return result
    },
    { step: 'deserialize', priority: 'low', name: 'limitAnswer' },
  )
}

function limitBytes(maxBytes: number): Transform {
  let seen = 0
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      seen += chunk.length
      if (seen > maxBytes) done(new Error('The answer is too long.'))
      else done(null, chunk)
    },
  })
}
