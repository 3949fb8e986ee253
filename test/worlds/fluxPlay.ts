import type { KubeObject } from '../../src/core/object.ts'

/** Flux's status of a release that it has just processed. The tests do not run its controllers. */

type Chart = KubeObject & {
  spec: { ref: { tag: string; digest?: string } }
  metadata: { generation?: number }
}
type Snapshot = { chartVersion: string; status: string }
type Release = KubeObject & { status?: { history?: Snapshot[] } }

export type Played = {
  /** Why Helm fails; undefined if it does not. */
  failure?: string | undefined
  /** RFC 3339. */
  now: string
}

const asked = ({ metadata }: KubeObject) => metadata.annotations?.['reconcile.fluxcd.io/requestedAt']

export function fluxStatus(release: KubeObject, chart: KubeObject, { failure, now }: Played): object {
  const { tag, digest = `sha256:${'0'.repeat(64)}` } = (chart as Chart).spec.ref
  const before = ((release as Release).status?.history ?? []).filter(({ status }) => status !== 'failed')
  const chartVersion = `${tag}+${digest.slice(7, 19)}`
  const isThere = before[0]?.chartVersion === chartVersion && asked(release) === undefined
  const snapshot = {
    ...{ name: release.metadata.name, namespace: 'apps', version: before.length + 1, chartName: 'chart', chartVersion },
    ...{ digest: `sha256:${'1'.repeat(64)}`, configDigest: `sha256:${'2'.repeat(64)}`, ociDigest: digest },
    ...{ firstDeployed: now, lastDeployed: now, status: failure === undefined ? 'deployed' : 'failed' },
  }
  const older = before.map((one) => ({ ...one, status: failure === undefined ? 'superseded' : one.status }))
  const generation = release.metadata.generation ?? 1
  const condition = (type: string, isTrue: boolean, reason: string, message: string) => ({
    ...{ type, status: isTrue ? 'True' : 'False', reason, message },
    ...{ lastTransitionTime: now, observedGeneration: generation },
  })
  const conditions =
    failure === undefined
      ? [condition('Ready', true, 'UpgradeSucceeded', 'done'), condition('Released', true, 'UpgradeSucceeded', 'done')]
      : [
          condition('Ready', false, 'UpgradeFailed', failure),
          condition('Released', false, 'UpgradeFailed', failure),
          condition('Stalled', true, 'RetriesExceeded', failure),
        ]
  return {
    observedGeneration: generation,
    conditions,
    history: isThere ? before : [snapshot, ...older].slice(0, 5),
    lastAttemptedRevision: chartVersion,
    lastAttemptedConfigDigest: snapshot.configDigest,
    ...(asked(release) !== undefined && { lastHandledReconcileAt: asked(release) }),
  }
}
