/** What the controllers, the activator and the gate of agents agree on of copies of functions in other clusters. */

/** A copy of a function in another cluster: the function by its namespace and name, the pod by the cluster that it is in. */
export type FarCopy = { namespace: string; name: string; clusterId: string; pod: string }

/** What the gate is asked for: a connection that carries bytes to the port of the copy and back. */
export const COPY_PROTOCOL = 'freehold-copy'
/** In the platform's namespace: the certificate with which the activator enters the gate, for such connections only. */
export const ACTIVATOR_TUNNEL_SECRET = 'freehold-agent-activator'

/** Whether what a status says, or what is made of it for a call, is in another cluster: no address of a pod has a slash. */
export const isFarCopy = (copy: string) => copy.includes('/')

/** How a status names it: an address of there means nothing here. */
export const farCopyEntry = ({ clusterId, pod }: Pick<FarCopy, 'clusterId' | 'pod'>) => `${clusterId}/${pod}`

/** @param entry as in a status */
export const farCopyPath = ({ namespace, name }: Pick<FarCopy, 'namespace' | 'name'>, entry: string) =>
  `/functions/${namespace}/${name}/copies/${entry}`

const LABELS = '[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?'
const PATH = new RegExp(`^/functions/(${LABELS})/(${LABELS})/copies/([0-9a-f-]{36})/(${LABELS})$`)

/** Undefined for whatever is not exactly such a path: nothing else of a cluster can be asked for so. */
export function readFarCopyPath(path: string | undefined): FarCopy | undefined {
  const [, namespace, name, clusterId, pod] = PATH.exec(path ?? '') ?? []
  if (namespace === undefined || name === undefined || clusterId === undefined || pod === undefined) return undefined
  return { namespace, name, clusterId, pod }
}
