import { isIP } from 'node:net'
import { isInsideAddress } from '../../core/insideAddress.ts'
import { ADDRESS_NOT_ALLOWED } from '../outgoing/vettedLookup.ts'
import type { BackupTargets, TargetAccess, TargetTestResult } from './port.ts'
import { testResult, testResultOf } from './testResult.ts'

/** A store in memory with one key and a list of buckets. */
export class FakeBackupTargets implements BackupTargets {
  readonly key: { accessKeyId: string; secretAccessKey: string }
  /** By bucket name: whether the key may list it. */
  readonly buckets = new Map<string, boolean>([['backups', true]])
  /** The only endpoint that answers. */
  endpoint = 'https://store.test'
  readonly tested: TargetAccess[] = []

  constructor(key = { accessKeyId: 'id', secretAccessKey: 'secret' }) {
    this.key = key
  }

  async test(target: TargetAccess): Promise<TargetTestResult> {
    this.tested.push(target)
    const host = new URL(target.endpoint).hostname.replace(/^\[|\]$/g, '')
    if (isIP(host) !== 0 && !isInsideAddress(host)) return testResultOf({ code: ADDRESS_NOT_ALLOWED })
    if (target.endpoint !== this.endpoint) return testResult('Unreachable')
    const { accessKeyId, secretAccessKey } = this.key
    if (target.accessKeyId !== accessKeyId || target.secretAccessKey !== secretAccessKey)
      return testResult('AuthenticationFailed')
    const mayList = this.buckets.get(target.bucket)
    return testResult(mayList === undefined ? 'BucketMissing' : mayList ? 'Ok' : 'AccessDenied')
  }
}
