/** A bucket for backups of the platform, with its credentials. */
export type TargetAccess = {
  bucket: string
  prefix?: string | undefined
  region: string
  /** http or https. */
  endpoint: string
  forcePathStyle: boolean
  /** PEM; defaults to the authorities that Node trusts. */
  caCertificate?: string | undefined
  accessKeyId: string
  secretAccessKey: string
}

/** Results of testing a target (interface section 4.21, BackupTargetTestDto). */
export const TARGET_CODES = [
  'Ok',
  'invalid-target',
  'AuthenticationFailed',
  'BucketMissing',
  'AccessDenied',
  'TlsFailed',
  'Unreachable',
  'Timeout',
] as const
export type TargetCode = (typeof TARGET_CODES)[number]

/** `message` is our own sentence, without text of the store and without keys. */
export type TargetTestResult = { code: TargetCode; message: string }

/** Tests whether a bucket is usable, by listing it; changes nothing. */
export interface BackupTargets {
  /** Never rejects, and ends within ten seconds. */
  test(target: TargetAccess): Promise<TargetTestResult>
}
