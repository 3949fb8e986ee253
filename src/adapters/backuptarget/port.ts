/** A bucket that backups of the platform are to go to, with what opens it. */
export type TargetAccess = {
  bucket: string
  prefix?: string | undefined
  region: string
  /** http or https. */
  endpoint: string
  forcePathStyle: boolean
  /** PEM; the authorities that Node trusts if absent. */
  caCertificate?: string | undefined
  accessKeyId: string
  secretAccessKey: string
}

/** What a test of a target ends with (interface section 4.21, BackupTargetTestDto). */
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

/** `message` is our own sentence: nothing of the store's, and no key. */
export type TargetVerdict = { code: TargetCode; message: string }

/** Whether a bucket can be used: it is listed, and nothing else is done with it. */
export interface BackupTargets {
  /** Never rejects, and ends within ten seconds. */
  test(target: TargetAccess): Promise<TargetVerdict>
}
