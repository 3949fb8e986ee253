import {
  NOT_READY_REASONS,
  READY_REASONS,
  RECONCILING_REASONS,
  type Reason,
  STALLED_REASONS,
} from '../../src/core/reasons.ts'

type Advice = {
  readonly means: string
  /** Absent if nothing has to be done. */
  readonly remedy?: string
}

const SELF_HEALING = 'It continues by itself. If it does not within minutes, read the events of the object.'

/** What each reason means and what to do. A new reason needs an entry here, or it has no page. */
const ADVICE: Readonly<Record<Reason, Advice>> = {
  Accepted: {
    means: 'It was stored, but no controller has processed it yet.',
    remedy:
      'If it stays, check that the controllers run: `freehold check`, or `freehold check --dev` for `npm run up`.',
  },
  WaitingForGroup: {
    means: 'Its boundary, its group or their namespace does not exist yet.',
    remedy: 'Create the boundary or the group. For a Git tree see [GitOps](../gitops.md).',
  },
  WaitingForCluster: { means: 'The cluster that it runs in has not answered yet.', remedy: SELF_HEALING },
  WaitingForDependency: { means: 'Something that it needs is not ready yet.', remedy: SELF_HEALING },
  ApplyingWorkload: { means: 'Its parts are being written.', remedy: SELF_HEALING },
  WaitingForWorkload: {
    means: 'Its pods are starting.',
    remedy:
      'The message names what a pod waits for: room on a node, a storage class that the cluster lacks, an image. Databases wait for a node that may still come.',
  },
  WaitingForVolume: {
    means: 'Its volume is being created or enlarged.',
    remedy: 'Check that the cluster has a default StorageClass with room that can enlarge volumes.',
  },
  WaitingForAddress: {
    means: 'The load balancer has not assigned an address.',
    remedy: 'Check that the cluster has a load balancer, or do without an external address.',
  },
  WaitingForCertificate: {
    means: 'The certificate of its host is being issued.',
    remedy: 'Check that the host points at the cluster, and the issuer in the record of the cluster.',
  },
  Building: { means: 'Its image is being built.', remedy: 'Read the log of the build.' },
  RollingOut: { means: 'A new version is replacing the old one.', remedy: SELF_HEALING },
  Scaling: { means: 'Copies are being added.', remedy: SELF_HEALING },
  Draining: {
    means: 'Copies are being emptied before they are removed.',
    remedy: 'The time depends on the amount of data. Do not delete pods meanwhile.',
  },
  Starting: { means: 'It was started.', remedy: SELF_HEALING },
  Stopping: { means: 'It is being stopped.', remedy: SELF_HEALING },
  Restarting: { means: 'Its copies are being restarted one after the other.', remedy: SELF_HEALING },
  RotatingKey: { means: 'A new key is replacing the old one; both work meanwhile.', remedy: SELF_HEALING },
  Restoring: {
    means: 'Data is being restored from a snapshot or a backup.',
    remedy: 'The time depends on the amount of data.',
  },
  BackingUp: { means: 'A backup is being made.', remedy: SELF_HEALING },
  TearingDown: {
    means: 'It was deleted, and its parts are being removed.',
    remedy: 'The message names what it waits for.',
  },
  DeletionBlocked: {
    means: 'It was deleted, but something in it must be kept.',
    remedy: 'Remove the protection, or delete what the message names; the deletion then continues by itself.',
  },
  RetainingData: { means: 'It is being deleted, and its volumes are kept.', remedy: SELF_HEALING },
  Available: { means: 'It runs as specified.' },
  Ungoverned: {
    means:
      'A boundary runs as specified, and nobody is its Owner: two were removed at once with kubectl, or none was ever named.',
    remedy: 'An Owner of the platform gives the role to somebody: `POST {B}/members`.',
  },
  Stopped: {
    means: 'It is stopped, as specified. The message names what would prevent a start.',
    remedy: '`freehold start`, or `running: true` in its spec.',
  },
  Completed: { means: 'It ran to its end.' },
  PartiallyAvailable: {
    means: 'It serves, but with fewer copies than specified.',
    remedy: 'Read the events: a node may be gone, or full.',
  },
  ArchivingFailing: {
    means: 'It serves, but its log of changes does not reach the backup.',
    remedy: 'Check the backup target: address, credentials, room. Until then it cannot be restored to a point in time.',
  },
  BackupFailing: {
    means: 'It serves, but the last backup failed.',
    remedy: 'Check the backup target, and take a snapshot by hand.',
  },
  CertificateExpiring: {
    means: 'It serves, but its certificate was not renewed in time.',
    remedy: 'Check the certificate of the host: `kubectl describe certificate`.',
  },
  CrashLooping: {
    means: 'Its program keeps ending.',
    remedy: 'Read the log of the previous run (`freehold logs --previous`); usually a setting or memory is missing.',
  },
  ImagePullFailed: {
    means: 'Its image cannot be pulled.',
    remedy: 'Check the name, the tag, and whether the group may pull from that registry.',
  },
  PlanNotFound: {
    means: 'There is no such compute plan.',
    remedy: 'Name an existing one: `kubectl get computeplans`, or `freehold list` with the plans of `freehold kinds`.',
  },
  PlanDoesNotFit: {
    means: 'No node has room for the plan, or the plan is of another family.',
    remedy: 'Use a smaller plan, or add nodes.',
  },
  QuotaExceeded: {
    means: 'The quota of its boundary or group has no room.',
    remedy:
      'Delete something, use a smaller plan, or have the quota raised; waiting resources then continue by themselves, the oldest first.',
  },
  ReferenceMissing: {
    means: 'It refers to something that does not exist, or that its writer may not use.',
    remedy: 'Create what the message names, or correct the name; it then continues by itself.',
  },
  ConfigurationInvalid: { means: 'Its spec cannot be applied.', remedy: 'Change what the message names.' },
  StorageCannotShrink: {
    means: 'Its spec asks for a smaller volume than it has.',
    remedy: 'Restore the size. For a smaller volume, create a new resource and move the data.',
  },
  LicenseInvalid: {
    means: 'The license was not accepted, or is not valid.',
    remedy: 'Accept it (`acceptEula`), or enter a valid one.',
  },
  BuildFailed: {
    means: 'Its image could not be built.',
    remedy: 'Read the log of the build, fix the source, and build again.',
  },
  JobFailed: {
    means: 'The job ended with an error, after all its retries.',
    remedy: 'Read its log. To run it again, create a new job.',
  },
  JobTimedOut: {
    means: 'The job took longer than `activeDeadlineSeconds`.',
    remedy: 'Create a new job with more time, or with less to do.',
  },
  JobCancelled: {
    means: 'The job was cancelled before it ended. It may have done part of its work.',
    remedy: 'To run it again, create a new job.',
  },
  RunFailed: {
    means: 'A one-time run has failed: a deployment of a blueprint, a rollout, a scan or a retention run.',
    remedy: 'The message says why. Fix that, and start a new run.',
  },
  NameOccupied: {
    means: 'Another object has the name that it or one of its parts needs.',
    remedy: 'Choose another name. If the message names an object that nobody needs, delete that object.',
  },
  EngineMissing: {
    means: 'The engine that does the work is not installed.',
    remedy:
      'An administrator must install what the message names: [installation](../install.md#1-what-the-cluster-needs).',
  },
  EngineRefused: { means: 'The engine refuses the request.', remedy: 'Change what the message names.' },
  ClusterUnreachable: {
    means: 'The cluster that it runs in does not answer.',
    remedy: 'Check that cluster and the connection to it; what runs there keeps running.',
  },
  ClusterRevoked: {
    means: 'The agent of the cluster that it runs in was revoked.',
    remedy: 'Move it, or let the cluster join again.',
  },
  ReconcileFailed: {
    means: 'A step failed unexpectedly; it is retried with growing pauses.',
    remedy: 'Read the log of the controllers, and file a bug report if it persists.',
  },
}

const GROUPS: readonly { title: string; says: string; reasons: readonly Reason[] }[] = [
  {
    title: 'Somebody has to change something',
    says: '`Stalled` is True, REST shows `Failed` or `Degraded`. Waiting does not help.',
    reasons: STALLED_REASONS,
  },
  {
    title: 'It serves, but not well',
    says: '`Ready` is False or the message warns; REST shows `Degraded`.',
    reasons: [...NOT_READY_REASONS, 'ReconcileFailed'],
  },
  { title: 'Under way', says: '`Reconciling` is True. Normal for a while.', reasons: RECONCILING_REASONS },
  { title: 'At rest', says: '`Ready` is True.', reasons: READY_REASONS },
]

/** What to do, by phase of a resource. */
export function troubleshootingPage(): string {
  const parts = GROUPS.map(({ title, says, reasons }) => {
    const rows = reasons.map((reason) => `| \`${reason}\` | ${ADVICE[reason].means} | ${ADVICE[reason].remedy ?? ''} |`)
    return [`## ${title}`, '', says, '', '| Phase | What it means | What to do |', '| --- | --- | --- |', ...rows].join(
      '\n',
    )
  })
  return `<!-- Generated by \`npm run generate\`. -->

# When something does not run

\`freehold describe KIND NAME\`, or \`kubectl describe\`, shows three things: \`status\` (its state), \`phase\` (why, one of the
words below) and \`statusMessage\` (a sentence with the details). Begin with the sentence; this page says what the
word means and what to do. Refused requests have [their own page](refusals.md).

1. Nothing is shown at all: no controller runs, or the API server cannot be reached. Run \`freehold check\`, or \`freehold check --dev\` for \`npm run up\`.
2. The request was refused: the answer names the field or the permission. \`freehold whoami\` shows who you are.
3. It was accepted but does not run: look up its phase here.
4. It runs but does not answer: read its log, then [the page of its area](../areas), which says how to reach it.

${parts.join('\n\n')}
`
}
