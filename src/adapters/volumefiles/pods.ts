import { setTimeout as sleep } from 'node:timers/promises'
import type { FileRequest } from '../../contracts/files.ts'
import { PlatformError } from '../../core/errors.ts'
import { KeyedSemaphore } from '../../core/keyedSemaphore.ts'
import { absent, kubeFailureOf } from '../../core/kubeFailure.ts'
import { createLruCache } from '../../core/lruCache.ts'
import type { KubeObject } from '../../core/object.ts'
import { plainLine } from '../../core/plainLine.ts'
import type { KubeClient } from '../../kube/client.ts'
import type { Exec, ExecSession } from '../../kube/exec.ts'
import { buildFilesJob, FILES_CONTAINER, filesPodName, JOBS, mountedFolders, PODS, SERVE_COMMAND } from './filesPod.ts'
import type { FileOptions, FilesLocation, VolumeFiles } from './port.ts'
import { decodeFileAnswer, encodeFileRequest } from './session.ts'

/** Access to one cluster. */
export type FilesCluster = {
  client: Pick<KubeClient, 'get' | 'list' | 'create' | 'remove'>
  exec: Exec
}

export type PodVolumeFilesOptions = FilesCluster & {
  /** Returns access to another cluster, whose pods are never simulated. */
  other: (clusterId: string) => FilesCluster
  /** Returns the image with the agent program. */
  image: () => Promise<string>
  /** Whether pods of the platform's own cluster are simulated. */
  isSimulated: boolean
  /** Milliseconds until the answer must begin, once the request is sent. */
  answerWithin?: number
}

const START_TIMEOUT_MS = 45_000
const POLL_INTERVAL_MS = 150
/** Deleting a folder with very many files takes minutes; a volume that hangs never answers. */
const ANSWER_TIMEOUT_MS = 300_000
/** Concurrent requests per pod; each is a process there. */
const MAX_REQUESTS_PER_POD = 4
/** Size of the cache of pods. */
const CACHED_PODS_MAX = 1_000

type Pod = KubeObject & {
  status?: {
    phase?: string
    conditions?: { type: string; status: string; reason?: string }[]
    containerStatuses?: { ready?: boolean; state?: { waiting?: { reason?: string } } }[]
  }
}
type Job = KubeObject & { status?: { conditions?: { type: string; status: string }[] } }

/** Reaches files through a pod beside the volumes, which only runs while files are requested. */
export function podVolumeFiles({
  image,
  isSimulated,
  other,
  answerWithin = ANSWER_TIMEOUT_MS,
  ...own
}: PodVolumeFilesOptions): VolumeFiles {
  const places = new KeyedSemaphore(MAX_REQUESTS_PER_POD)
  /** The last pod that answered, by name of its Job. */
  const known = createLruCache<string, string>(CACHED_PODS_MAX)

  async function open(place: FilesLocation, key: string, signal: AbortSignal): Promise<ExecSession> {
    const { client, exec } = place.clusterId === undefined ? own : other(place.clusterId)
    const run = (pod: string) =>
      exec({ namespace: place.namespace, pod, container: FILES_CONTAINER, command: SERVE_COMMAND, signal })
    const last = known.get(key)
    if (last !== undefined) {
      try {
        return await run(last)
      } catch {
        // The pod has ended.
        signal.throwIfAborted()
        known.delete(key)
      }
    }
    const pod = await ensureRunningPod(client, place, await image(), signal)
    known.set(key, pod)
    return run(pod)
  }

  return {
    async ask(place: FilesLocation, request: FileRequest, { body, signal }: FileOptions) {
      if (isSimulated && place.clusterId === undefined) {
        if (place.isStopped === true) throw new PlatformError('INSTANCE_STOPPED', `"${place.owner.name}" is stopped.`)
        const message = 'Pods are simulated here, so they have no files.'
        throw new PlatformError('FEATURE_UNSUPPORTED', message, { feature: 'files' })
      }
      const key = `${place.clusterId ?? ''}/${place.namespace}/${filesPodName(place, await image())}`
      const release = await places.take(key, signal)
      try {
        const session = await open(place, key, signal)
        session.stdout.once('close', release)
        return await answerOf(session, encodeFileRequest(mountedFolders(place), request, body), answerWithin)
      } catch (error) {
        release()
        if (error instanceof PlatformError || signal.aborted) throw error
        const message = 'The files cannot be reached now: the pod beside the volume does not answer.'
        throw new PlatformError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 5 }, { cause: error })
      }
    },
  }
}

/** Closes the session if there is no valid answer: otherwise it would keep its slot, and a process in the pod. */
async function answerOf(session: ExecSession, pieces: AsyncIterable<Buffer>, answerWithin: number) {
  const { stdout } = session
  const waiting = new AbortController()
  const limit = () =>
    sleep(answerWithin, undefined, { signal: waiting.signal, ref: false }).then(
      () => stdout.destroy(new Error('The volume does not answer.')),
      () => {},
    )
  send(session, pieces).then(limit, (error: Error) => stdout.destroy(error))
  try {
    return await decodeFileAnswer(stdout)
  } catch (error) {
    stdout.destroy()
    throw error
  } finally {
    waiting.abort()
  }
}

/**
 * Sends the request, and stops once the answer has arrived. Standard input stays open: closing it tells the program
 * that everything was received.
 */
async function send(session: ExecSession, pieces: AsyncIterable<Buffer>): Promise<void> {
  for await (const piece of pieces) {
    if (session.stdout.destroyed || session.stdout.readableEnded) return
    await session.write(piece)
  }
}

/** @returns the name of a running pod beside the volumes. @throws PlatformError if none starts in time */
async function ensureRunningPod(
  client: PodVolumeFilesOptions['client'],
  place: FilesLocation,
  image: string,
  signal: AbortSignal,
): Promise<string> {
  const wanted = buildFilesJob(place, image)
  const ref = { namespace: place.namespace, name: wanted.metadata.name }
  const deadline = performance.now() + START_TIMEOUT_MS
  for (let why = ''; ; await sleep(POLL_INTERVAL_MS, undefined, { signal })) {
    const found = await client.get<Job>(JOBS, ref).catch(absent)
    if (found === undefined) await client.create(JOBS, wanted).catch(ignoreReason('AlreadyExists'))
    else if (hasEnded(found)) await client.remove(JOBS, ref, { uid: found.metadata.uid })
    else {
      const labelSelector = `batch.kubernetes.io/job-name=${ref.name}`
      const { items } = await client.list<Pod>(PODS, {
        namespace: ref.namespace,
        labelSelector,
        resourceVersion: '0',
      })
      const ready = items.find(isReady)
      if (ready !== undefined) return ready.metadata.name
      why = reasonOf(items[0])
    }
    if (performance.now() > deadline) {
      const message = `The files cannot be reached: the pod beside the volume does not start${why}.`
      throw new PlatformError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 30 })
    }
  }
}

/** A pod of the previous Job may still be terminating. */
const isReady = ({ metadata, status }: Pod) =>
  metadata.deletionTimestamp === undefined && status?.containerStatuses?.[0]?.ready === true

function hasEnded({ metadata, status }: Job): boolean {
  const { conditions = [] } = status ?? {}
  const isOver = conditions.some(({ type, status: is }) => ['Complete', 'Failed'].includes(type) && is === 'True')
  return isOver && metadata.deletionTimestamp === undefined
}

const REASON_MAX_LENGTH = 63

/** Returns Kubernetes' reason why a pod does not start, without its message. */
function reasonOf(pod: Pod | undefined): string {
  if (pod === undefined) return ': the quota of the group may be used up'
  const waiting = pod.status?.containerStatuses?.[0]?.state?.waiting?.reason
  const unmet = pod.status?.conditions?.find(({ status, reason }) => status === 'False' && reason !== undefined)?.reason
  const reason = waiting ?? unmet
  return typeof reason === 'string' ? ` (${plainLine(reason, REASON_MAX_LENGTH)})` : ''
}

const ignoreReason = (wanted: string) => (error: unknown) => {
  if (kubeFailureOf(error)?.reason !== wanted) throw error
}
