import { isStoreError } from '../../adapters/objectstorage/port.ts'
import { objectKey } from '../../core/object.ts'
import { type Outcome, stalled } from '../../core/outcome.ts'
import type { AnyKind } from '../../crds/define.ts'
import { isKubeError, type KubeError, refusalSubjectOf } from '../../kube/errors.ts'

/** Milliseconds until a refusal by another system is retried: the cause may change on its side. */
export const REFUSAL_RETRY_MS = 5 * 60_000

/** Maps field paths in created objects to our spec fields. */
const SPEC_FIELD_BY_PATH: readonly [path: RegExp, field: string][] = [
  [/storageClass(Name)?$/, 'storageClass'],
  [/\bstorage(\.size)?\]?$/, 'storageSize'],
  [/limits\b.*\bcpu\b/, 'cpuLimit'],
  [/requests\b.*\bcpu\b/, 'cpuRequest'],
  [/limits\b.*\bmemory\b/, 'memoryLimit'],
  [/requests\b.*\bmemory\b/, 'memoryRequest'],
  [/\b(replicas|instances)$/, 'replicas'],
  [/loadBalancerSourceRanges|\bcidr$/, 'allowedCidrs'],
  [/\b(image|imageName)$/, 'imageName'],
  [/\bhost(names)?(\[\d+\])?$/, 'ingressHost'],
  [/\bparameters\b/, 'parameters'],
  [/\bschedule$/, 'backupSchedule'],
]

/**
 * Returns the outcome for a permanent refusal by another system: a person must change something. Undefined for errors
 * that may pass by themselves, such as no answer, a conflict, or permissions that were not granted yet.
 */
export function outcomeOfRefusal(thrown: unknown, kind: Pick<AnyKind, 'spec'>): Outcome | undefined {
  const message = isKubeError(thrown) ? kubeRefusal(thrown, kind) : storeRefusal(thrown)
  return message === undefined ? undefined : { ...stalled('ConfigurationInvalid', message), after: REFUSAL_RETRY_MS }
}

function kubeRefusal(error: KubeError, { spec }: Pick<AnyKind, 'spec'>): string | undefined {
  if (error.reason !== 'Invalid' && error.denial === undefined) return undefined
  const subject = `${error.resource?.kind ?? 'object'} "${objectKey(error.namespace, error.objectName ?? '')}"`
  // Policy messages are written for people; the server's own messages repeat values, which may be secret.
  if (error.denial !== undefined) return `${refusalSubjectOf(error)} refuses ${subject}: ${error.denial.message}`
  const paths = [...new Set(error.causes.map(({ field }) => field).filter((field) => field !== ''))].slice(0, 5)
  const ours = [...new Set(paths.flatMap((path) => fieldOf(path, spec)))]
  const pathList = paths.length === 0 ? '' : ` (${paths.join(', ')})`
  if (ours.length === 0) return `${refusalSubjectOf(error)} refuses ${subject}${pathList}. Change the spec.`
  return `${refusalSubjectOf(error)} refuses ${subject} because of ${ours.join(', ')}${pathList}. Set another value.`
}

function fieldOf(path: string, spec: AnyKind['spec']): string[] {
  const found = SPEC_FIELD_BY_PATH.find(([pattern, field]) => pattern.test(path) && Object.hasOwn(spec.shape, field))
  return found === undefined ? [] : [found[1]]
}

function storeRefusal(thrown: unknown): string | undefined {
  return isStoreError(thrown, 'Refused', 'Invalid', 'Full', 'Taken') ? thrown.message : undefined
}
