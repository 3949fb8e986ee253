/** What the controllers, the activator and the gate of agents share about copies of functions in other clusters. */

/** A copy of a function in another cluster: the function by namespace and name, the pod by cluster and name. */
export type RemoteCopy = { namespace: string; name: string; clusterId: string; pod: string }

/** The protocol that the gate is asked for: a connection that carries bytes to the port of the copy and back. */
export const COPY_PROTOCOL = 'freehold-copy'
/** Secret in the platform's namespace: the activator's certificate at the gate, for such connections only. */
export const ACTIVATOR_TUNNEL_SECRET = 'freehold-agent-activator'

/** Whether a copy, as named in a status or for a call, is in another cluster: addresses of pods have no slash. */
export const isRemoteCopy = (copy: string) => copy.includes('/')

/** Returns the name of a copy in a status: the address of its pod means nothing in this cluster. */
export const remoteCopyName = ({ clusterId, pod }: Pick<RemoteCopy, 'clusterId' | 'pod'>) => `${clusterId}/${pod}`

/** @param entry as in a status */
export const remoteCopyPath = ({ namespace, name }: Pick<RemoteCopy, 'namespace' | 'name'>, entry: string) =>
  `/functions/${namespace}/${name}/copies/${entry}`

const LABELS = '[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?'
const PATH = new RegExp(`^/functions/(${LABELS})/(${LABELS})/copies/([0-9a-f-]{36})/(${LABELS})$`)

/** Parses exactly such a path; undefined for all others, so that nothing else of a cluster can be requested. */
export function parseRemoteCopyPath(path: string | undefined): RemoteCopy | undefined {
  const [, namespace, name, clusterId, pod] = PATH.exec(path ?? '') ?? []
  if (namespace === undefined || name === undefined || clusterId === undefined || pod === undefined) return undefined
  return { namespace, name, clusterId, pod }
}
