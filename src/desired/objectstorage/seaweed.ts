import { SEAWEED_PORT, type SeaweedRef } from '../../contracts/objectstorage.ts'
import { type Outcome, stalled, waiting } from '../../core/outcome.ts'

/** The fields of a Seaweed that are read (seaweed.seaweedfs.com/v1, SeaweedSpec and SeaweedStatus). */
export type Seaweed = {
  metadata: { deletionTimestamp?: string }
  spec?: { s3?: { port?: number; iam?: boolean; extraArgs?: readonly string[] } }
  status?: {
    s3?: { replicas?: number; readyReplicas?: number }
    conditions?: readonly { type: string; status: string; message?: string }[]
  }
}

const INSTALL_HINT =
  'Install the SeaweedFS operator (https://github.com/seaweedfs/seaweedfs-operator): the API server does not know Seaweed of seaweed.seaweedfs.com/v1.'

/** Matches the flag without which the gateway refuses changes of users. Go flags take one or two hyphens. */
const IAM_WRITABLE_FLAG = /(^|\s)--?iam\.readOnly=(false|f|0)(\s|$)/i
const MAX_MESSAGE_LENGTH = 300

/**
 * Returns why the store of a Seaweed cannot be used; undefined if it can. Messages name the field of the Seaweed to
 * change.
 *
 * @param found undefined if no Seaweed has this name
 * @param isServed whether the API server knows the kind
 */
export function seaweedObstacle(
  { namespace, name, port }: SeaweedRef,
  found: Seaweed | undefined,
  isServed: boolean,
): Outcome | undefined {
  const subject = `Seaweed "${namespace}/${name}"`
  if (!isServed) return stalled('EngineMissing', INSTALL_HINT)
  if (found === undefined) {
    return stalled('EngineMissing', `There is no ${subject}: apply one, as docs/areas/objectstorage.md shows.`)
  }
  if (found.metadata.deletionTimestamp !== undefined) return stalled('EngineMissing', `${subject} is being deleted.`)
  const gateway = found.spec?.s3
  if (gateway === undefined) return stalled('EngineRefused', `${subject} has no gateway of its own: set spec.s3.`)
  if (gateway.iam === false) return stalled('EngineRefused', `${subject} takes no users: set spec.s3.iam to true.`)
  if (!IAM_WRITABLE_FLAG.test((gateway.extraArgs ?? []).join(' '))) {
    return stalled('EngineRefused', `${subject} takes no new users: add -iam.readOnly=false to spec.s3.extraArgs.`)
  }
  const own = gateway.port ?? SEAWEED_PORT
  if (port !== undefined && port !== own) {
    return stalled('EngineRefused', `${subject} listens at port ${own}: set objectStoreEndpoint.`)
  }
  if ((found.status?.s3?.readyReplicas ?? 0) > 0) return undefined
  const message = found.status?.conditions?.find(({ type, status }) => type === 'Ready' && status !== 'True')?.message
  const detail = message === undefined || message === '' ? '' : ` (${message.slice(0, MAX_MESSAGE_LENGTH)})`
  return waiting('WaitingForDependency', `No gateway of ${subject} is ready${detail}.`)
}
