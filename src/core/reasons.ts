/**
 * Why a condition is as it is: the constants that conditions, events, logs, metrics and `phase` share.
 * The group says which condition carries the reason (records of section 2 of the interface: status and phase).
 */
export const RECONCILING_REASONS = [
  'Accepted',
  'WaitingForGroup',
  'WaitingForCluster',
  'WaitingForDependency',
  'ApplyingWorkload',
  'WaitingForWorkload',
  'WaitingForVolume',
  'WaitingForAddress',
  'WaitingForCertificate',
  'Building',
  'RollingOut',
  'Scaling',
  'Draining',
  'Starting',
  'Stopping',
  'Restarting',
  'RotatingKey',
  'Restoring',
  'BackingUp',
  'TearingDown',
  'DeletionBlocked',
  'RetainingData',
] as const

export const READY_REASONS = ['Available', 'Ungoverned', 'Stopped', 'Completed'] as const

export const NOT_READY_REASONS = [
  'PartiallyAvailable',
  'ArchivingFailing',
  'BackupFailing',
  'CertificateExpiring',
  'CrashLooping',
  'ImagePullFailed',
] as const

export const STALLED_REASONS = [
  'PlanNotFound',
  'PlanDoesNotFit',
  'QuotaExceeded',
  'ReferenceMissing',
  'ConfigurationInvalid',
  'StorageCannotShrink',
  'LicenseInvalid',
  'BuildFailed',
  'JobFailed',
  'JobTimedOut',
  'JobCancelled',
  'RunFailed',
  'NameOccupied',
  'EngineMissing',
  'EngineRefused',
  'ClusterUnreachable',
  'ClusterRevoked',
] as const

export type ReconcilingReason = (typeof RECONCILING_REASONS)[number]
export type ReadyReason = (typeof READY_REASONS)[number]
export type NotReadyReason = (typeof NOT_READY_REASONS)[number]
export type StalledReason = (typeof STALLED_REASONS)[number]
export type Reason = ReconcilingReason | ReadyReason | NotReadyReason | StalledReason | 'ReconcileFailed'

export const REASONS: readonly Reason[] = [
  ...RECONCILING_REASONS,
  ...READY_REASONS,
  ...NOT_READY_REASONS,
  ...STALLED_REASONS,
  'ReconcileFailed',
]
