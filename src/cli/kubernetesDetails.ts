import { ownerLabelSelector } from '../contracts/workloads.ts'
import type { ChildStem } from '../core/childStems.ts'
import { childName } from '../core/names.ts'
import { CommandFailure } from './failure.ts'
import type { KubernetesAnswer, SendToKubernetes } from './kubernetes.ts'

/** Coordinates of an object that REST shows as well. */
export type ObjectLocation = {
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
  readonly shortNames: readonly string[]
  readonly namespace: string | undefined
  readonly name: string
}
type Condition = { type: string; status: string; reason?: string; message?: string }
type KubernetesEvent = {
  regarding?: { kind?: string; name?: string }
  type?: string
  reason?: string
  note?: string
  eventTime?: string | null
  deprecatedLastTimestamp?: string | null
  series?: { lastObservedTime?: string }
  metadata?: { creationTimestamp?: string }
}
type KubernetesObject = {
  metadata?: { name?: string; creationTimestamp?: string }
  status?: { statusMessage?: string; selector?: string; conditions?: Condition[] }
}

/** What the cluster tells about a resource beyond its record. */
export type ClusterDetails = {
  readonly message: string | undefined
  readonly conditions: readonly Condition[]
  /** Events of the object, its workload and its pods, newest last. */
  readonly events: readonly { time: string; type: string; reason: string; object: string; message: string }[]
}

const EVENTS_SHOWN = 10

/** Reads what the caller may read; undefined if that is nothing, or the API server does not answer. */
export async function readClusterDetails(
  location: ObjectLocation,
  send: SendToKubernetes,
): Promise<ClusterDetails | undefined> {
  const { namespace, kind, name } = location
  const found = await objectAt(location, send)
  if (found === undefined) return undefined
  const { statusMessage, conditions = [], selector = ownerLabelSelector(kind, name) } = found.status ?? {}
  const events =
    namespace === undefined
      ? []
      : await ignoreCommandFailure(eventsOf(location, namespacePath(namespace), selector, send))
  // Kubernetes keeps events for an hour: earlier ones are about a previous object of the same name.
  const since = Date.parse(found.metadata?.creationTimestamp ?? '') || 0
  const recent = (events ?? []).filter(({ time }) => !(Date.parse(time) < since))
  return { message: statusMessage, conditions, events: recent }
}

const namespacePath = (namespace: string | undefined) =>
  namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`

/** Reads only the status; undefined in the same cases. */
export async function statusOfObject(
  location: ObjectLocation,
  send: SendToKubernetes,
): Promise<NonNullable<KubernetesObject['status']> | undefined> {
  const found = await objectAt(location, send)
  return found === undefined ? undefined : (found.status ?? {})
}

async function objectAt(
  { apiVersion, plural, namespace, name }: ObjectLocation,
  send: SendToKubernetes,
): Promise<KubernetesObject | undefined> {
  const found = await ignoreCommandFailure(
    send(`/apis/${apiVersion}${namespacePath(namespace)}/${plural}/${encodeURIComponent(name)}`),
  )
  if (found === undefined || found.status >= 400) return undefined
  return found.body as KubernetesObject
}

async function ignoreCommandFailure<Result>(promise: Promise<Result>): Promise<Result | undefined> {
  try {
    return await promise
  } catch (error) {
    if (error instanceof CommandFailure) return undefined
    throw error
  }
}

async function eventsOf(location: ObjectLocation, inNamespace: string, selector: string, send: SendToKubernetes) {
  const [pods, events] = await Promise.all([
    send(`/api/v1${inNamespace}/pods?labelSelector=${encodeURIComponent(selector)}`),
    send(`/apis/events.k8s.io/v1${inNamespace}/events`),
  ])
  const names = itemsOf<KubernetesObject>(pods).flatMap(({ metadata }) => metadata?.name ?? [])
  return eventsAbout(location, names, itemsOf<KubernetesEvent>(events))
}

/** @param pods names of existing pods */
export function eventsAbout(
  { kind, name, shortNames }: Pick<ObjectLocation, 'kind' | 'name' | 'shortNames'>,
  pods: readonly string[],
  events: readonly KubernetesEvent[],
): ClusterDetails['events'] {
  const workload = childName(shortNames[0] as ChildStem, name)
  const isAbout = ({ regarding = {} }: KubernetesEvent) => {
    if (regarding.kind === kind) return regarding.name === name
    if (regarding.kind === 'Pod') return pods.includes(regarding.name ?? '')
    return ['Job', 'StatefulSet', 'Deployment'].includes(regarding.kind ?? '') && regarding.name === workload
  }
  return events
    .filter(isAbout)
    .map((event) => ({
      time: timeOf(event),
      type: event.type ?? '',
      reason: event.reason ?? '',
      object: `${event.regarding?.kind} ${event.regarding?.name}`,
      message: event.note ?? '',
    }))
    .sort((one, other) => one.time.localeCompare(other.time))
    .slice(-EVENTS_SHOWN)
}

const timeOf = ({ series, eventTime, deprecatedLastTimestamp, metadata }: KubernetesEvent): string =>
  series?.lastObservedTime ?? eventTime ?? deprecatedLastTimestamp ?? metadata?.creationTimestamp ?? ''

const itemsOf = <Item>({ status, body }: KubernetesAnswer): Item[] =>
  status < 400 && Array.isArray(body.items) ? (body.items as Item[]) : []
