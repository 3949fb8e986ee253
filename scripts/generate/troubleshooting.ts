import {
  NOT_READY_REASONS,
  READY_REASONS,
  RECONCILING_REASONS,
  type Reason,
  STALLED_REASONS,
} from '../../src/core/reasons.ts'

type Advice = {
  readonly means: string
  /** Absent where nothing has to be done. */
  readonly remedy?: string
}

const PATIENCE = 'It goes on by itself. If it does not within minutes, read the events of the object.'

/** What each reason means and what to do: a new reason has no page before it has its words here. */
const ADVICE: Readonly<Record<Reason, Advice>> = {
  Accepted: {
    means: 'It was stored, and no controller has looked at it yet.',
    remedy: 'If it stays: see whether the controllers run (`freehold check`, of `npm run up` `freehold check --dev`).',
  },
  WaitingForGroup: {
    means: 'Its boundary, its group or their namespace is not there yet.',
    remedy: 'Make the boundary or the group. In a tree of Git see [GitOps](../gitops.md).',
  },
  WaitingForCluster: { means: 'The cluster that it runs in has not answered yet.', remedy: PATIENCE },
  WaitingForDependency: { means: 'Something that it needs is on its way.', remedy: PATIENCE },
  ApplyingWorkload: { means: 'Its parts are being written.', remedy: PATIENCE },
  WaitingForWorkload: {
    means: 'Its pods are starting.',
    remedy:
      'The message names what a pod waits for: room on a node, a storage class that the cluster lacks, an image. Databases wait for a node that may still come.',
  },
  WaitingForVolume: {
    means: 'Its volume is being made or grown.',
    remedy: 'See that the cluster has a default StorageClass with room, which can grow volumes.',
  },
  WaitingForAddress: {
    means: 'The load balancer has not given an address.',
    remedy: 'See that the cluster has one; else do without an external address.',
  },
  WaitingForCertificate: {
    means: 'The certificate of its host is being issued.',
    remedy: 'See that the host points at the cluster, and the issuer of the record of the cluster.',
  },
  Building: { means: 'Its image is being built.', remedy: 'Read the log of the build.' },
  RollingOut: { means: 'A new version replaces the former one.', remedy: PATIENCE },
  Scaling: { means: 'Copies are being added.', remedy: PATIENCE },
  Draining: {
    means: 'Copies are being emptied before they go.',
    remedy: 'It takes as long as the data takes to move. Do not delete pods meanwhile.',
  },
  Starting: { means: 'It was started.', remedy: PATIENCE },
  Stopping: { means: 'It is being stopped.', remedy: PATIENCE },
  Restarting: { means: 'Its copies are restarted one after the other.', remedy: PATIENCE },
  RotatingKey: { means: 'A new key replaces the former one; both work meanwhile.', remedy: PATIENCE },
  Restoring: {
    means: 'Data comes back from a snapshot or a backup.',
    remedy: 'It takes as long as the data is large.',
  },
  BackingUp: { means: 'A backup is being made.', remedy: PATIENCE },
  TearingDown: {
    means: 'It was deleted, and what belongs to it is going.',
    remedy: 'The message names what is waited for.',
  },
  DeletionBlocked: {
    means: 'It was deleted, and something in it is to be kept.',
    remedy: 'Take the protection off, or delete what the message names; the deletion then goes on by itself.',
  },
  RetainingData: { means: 'It is going, and its volumes are being kept.', remedy: PATIENCE },
  Available: { means: 'It runs as it is wanted.' },
  Stopped: {
    means: 'It is stopped, as it is wanted. The message says what would keep it from being started.',
    remedy: '`freehold start`, or `running: true` in its spec.',
  },
  Completed: { means: 'It ran to its end.' },
  PartiallyAvailable: {
    means: 'It serves, with fewer copies than wanted.',
    remedy: 'Read the events: a node may be gone, or full.',
  },
  ArchivingFailing: {
    means: 'It serves, and its log of changes does not reach the backup.',
    remedy: 'See the backup target: address, credentials, room. Until then it cannot be restored to a moment.',
  },
  BackupFailing: {
    means: 'It serves, and the last backup failed.',
    remedy: 'See the backup target, and take a snapshot by hand.',
  },
  CertificateExpiring: {
    means: 'It serves, and its certificate was not renewed in time.',
    remedy: 'See the certificate of the host: `kubectl describe certificate`.',
  },
  CrashLooping: {
    means: 'Its program ends again and again.',
    remedy: 'Read the log of the run before (`freehold logs --previous`); it mostly lacks a setting or memory.',
  },
  ImagePullFailed: {
    means: 'Its image cannot be pulled.',
    remedy: 'See name and tag, and whether the group may pull from that registry.',
  },
  PlanNotFound: {
    means: 'There is no such compute plan.',
    remedy: 'Name another (`freehold list`, or `kubectl get computeplans`).',
  },
  PlanDoesNotFit: {
    means: 'No node has room for the plan, or the plan is of another family.',
    remedy: 'Take a smaller plan, or add nodes.',
  },
  QuotaExceeded: {
    means: 'The quota of its boundary or group has no room.',
    remedy: 'Delete something, take a smaller plan, or have the quota raised; it goes on by itself, the oldest first.',
  },
  ReferenceMissing: {
    means: 'It names something that is not there, or that its writer may not use.',
    remedy: 'Make what the message names, or correct the name; it goes on by itself.',
  },
  ConfigurationInvalid: { means: 'Its spec cannot be carried out.', remedy: 'Change what the message names.' },
  StorageCannotShrink: {
    means: 'Its spec asks for a smaller volume than there is.',
    remedy: 'Set the size back. For a smaller one, make a new resource and move the data.',
  },
  LicenseInvalid: {
    means: 'The license was not accepted, or is not valid.',
    remedy: 'Accept it (`acceptEula`), or enter a valid one.',
  },
  BuildFailed: {
    means: 'Its image could not be built.',
    remedy: 'Read the log of the build, mend the source, and build again.',
  },
  JobFailed: {
    means: 'The job ended with an error, after all its tries.',
    remedy: 'Read its log; a second run is a second job.',
  },
  JobTimedOut: {
    means: 'The job took longer than `activeDeadlineSeconds`.',
    remedy: 'Give the next one more time, or less to do.',
  },
  RunFailed: {
    means: 'Work that is done once has failed: a deployment of a blueprint, a rollout, a scan or a retention run.',
    remedy: 'The message says why. Mend that and ask for it again.',
  },
  NameOccupied: {
    means: 'Another object has the name that it, or a part of it, needs.',
    remedy: 'Choose another name. If the message names an object that nobody needs, delete that.',
  },
  EngineMissing: {
    means: 'What does the work is not installed.',
    remedy: 'An administrator installs what the message names: [installation](../install.md#1-what-the-cluster-needs).',
  },
  EngineRefused: { means: 'The engine will not do it.', remedy: 'Change what the message names.' },
  ClusterUnreachable: {
    means: 'The cluster that it runs in does not answer.',
    remedy: 'See that cluster and the way to it; what runs there goes on.',
  },
  ClusterRevoked: {
    means: 'The cluster that it runs in was taken away.',
    remedy: 'Move it, or have the cluster joined again.',
  },
  ReconcileFailed: {
    means: 'A step failed for a reason that nobody foresaw; it is tried again with growing pauses.',
    remedy: 'Read the log of the controllers, and file a bug report if it stays.',
  },
}

const GROUPS: readonly { title: string; says: string; reasons: readonly Reason[] }[] = [
  {
    title: 'Somebody has to change something',
    says: '`Stalled` is True, REST shows `Failed` or `Degraded`. No waiting helps.',
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

/** What to do, by the phase that a resource shows. */
export function troubleshootingPage(): string {
  const parts = GROUPS.map(({ title, says, reasons }) => {
    const rows = reasons.map((reason) => `| \`${reason}\` | ${ADVICE[reason].means} | ${ADVICE[reason].remedy ?? ''} |`)
    return [`## ${title}`, '', says, '', '| Phase | What it means | What to do |', '| --- | --- | --- |', ...rows].join(
      '\n',
    )
  })
  return `<!-- Generated by \`npm run generate\`. -->

# When something does not run

\`freehold describe KIND NAME\`, or \`kubectl describe\`, shows three things: \`status\` (how it does), \`phase\` (why, one of the
words below) and \`statusMessage\` (a sentence that names what is concerned). Begin with the sentence; this page says what the
word means and what to do. Refusals of a request have [a page of their own](refusals.md).

1. Nothing is shown at all: no controller runs, or the API server cannot be reached. \`freehold check\`, or \`freehold check --dev\` of \`npm run up\`.
2. It was refused: the answer names the field or the right. \`freehold whoami\` shows who you are.
3. It was accepted and does not run: look its phase up here.
4. It runs and does not answer: its log, then [the page of its area](../areas), which says how it is reached.

${parts.join('\n\n')}
`
}
