import {
  COMPONENT_LABEL,
  RELEASE_COMPONENT,
  RELEASED_FOR_ANNOTATION,
  REVISION_LABEL,
} from '../../contracts/containerinstances.ts'
import type { KubeObject } from '../../core/object.ts'
import { type InstanceInput, podOf } from '../containers/index.ts'
import { type Child, child } from '../workload/child.ts'
import { explainFailedRun } from '../workload/failedRun.ts'
import type { LivePod } from '../workload/podProblems.ts'
import { shell } from './instance.ts'

/** Timeout of a release command in seconds. */
export const RELEASE_TIMEOUT_SECONDS = 600

/**
 * Runs the release command once, with the image and variables of the copies but without their volumes, because only one
 * node may be able to mount those.
 *
 * @param cause what asked for the run
 */
export function releaseJob(
  input: InstanceInput,
  { command, revision, cause }: { command: string; revision: number; cause: string },
): Child<'Job'> {
  const [component] = input.instance.spec.components
  if (component === undefined) throw new Error('An app has one component.')
  const labels = { [COMPONENT_LABEL]: RELEASE_COMPONENT, [REVISION_LABEL]: String(revision) }
  const { readinessProbe: _, ...rest } = component
  const run = { ...rest, command: shell(command), ports: [], mounts: [] }
  return child(
    input,
    {
      apiVersion: 'batch/v1',
      kind: 'Job',
      name: input.names.release(revision),
      labels,
      annotations: { [RELEASED_FOR_ANNOTATION]: cause },
    },
    {
      spec: {
        completions: 1,
        parallelism: 1,
        backoffLimit: 0,
        activeDeadlineSeconds: RELEASE_TIMEOUT_SECONDS,
        template: {
          metadata: { labels: { ...input.labels, ...labels } },
          spec: { ...podOf(input, run), restartPolicy: 'Never' },
        },
      },
    },
  )
}

/** The command is never rerun automatically: only its author knows whether that is safe. */
const RERUN_HINT = 'It runs again once the app is restarted or deployed anew.'

type ReleaseJob = KubeObject & { status?: { conditions?: { type: string; status: string; reason?: string }[] } }

/** Returns the outcome of the release Job; undefined while it runs. @param pod the Job's pod, if it still exists */
export function releaseOutcome(
  job: ReleaseJob | undefined,
  pod?: LivePod,
): { ok: true } | { ok: false; message: string } | undefined {
  const endCondition = job?.status?.conditions?.find(
    ({ type, status }) => status === 'True' && (type === 'Complete' || type === 'Failed'),
  )
  if (endCondition === undefined) return undefined
  if (endCondition.type === 'Complete') return { ok: true }
  const isLate = endCondition.reason === 'DeadlineExceeded'
  const result = isLate ? `took more than ${RELEASE_TIMEOUT_SECONDS} seconds` : 'failed'
  const causes = isLate ? [] : explainFailedRun(pod)
  const sentences = [
    `The release command ${result}; the previous version keeps serving.`,
    ...causes,
    'See its log.',
    RERUN_HINT,
  ]
  return { ok: false, message: sentences.join(' ') }
}
