import type { KubeObject } from '../core/object.ts'
import { COMPONENT_LABEL, REVISION_LABEL } from './containerinstances.ts'
import { IDENTITY_VOLUME } from './managedIdentities.ts'
import {
  actionOfOutput,
  OUTPUT_COLLECTIONS,
  outputsOf,
  type ReferencedRight,
  type Referring,
  referencedRights,
} from './references.ts'

type Variables = {
  env?: readonly { valueFrom?: { secretKeyRef?: object | undefined } | undefined }[]
  envFrom?: readonly { secretRef?: object | undefined }[]
}
type Volume = {
  name: string
  secret?: object | undefined
  projected?: { sources?: readonly { secret?: object | undefined }[] } | undefined
}

/** What of a pod tells what its containers were given. */
export type GivenPod = KubeObject & {
  spec?: {
    containers?: readonly Variables[]
    initContainers?: readonly Variables[]
    ephemeralContainers?: readonly Variables[]
    volumes?: readonly Volume[]
  }
}

type Component = NonNullable<Referring['components']>[number] & { name?: string }

/** What a revision of the pod's resource refers to; its components with their names, where there are several. */
export type ReferringRevision = {
  number: number
  refers: Omit<Referring, 'components'> & { components?: readonly Component[] }
}

/** In which ways a pod was given secret values. */
export function waysOf({ spec = {} }: GivenPod): { variables: boolean; files: boolean; identity: boolean } {
  const { containers = [], initContainers = [], ephemeralContainers = [], volumes = [] } = spec
  const all = [...containers, ...initContainers, ...ephemeralContainers]
  const isSecret = ({ secret, projected }: Volume) =>
    secret !== undefined || projected?.sources?.some((source) => source.secret !== undefined) === true
  return {
    variables: all.some(
      ({ env = [], envFrom = [] }) =>
        env.some(({ valueFrom }) => valueFrom?.secretKeyRef !== undefined) ||
        envFrom.some(({ secretRef }) => secretRef !== undefined),
    ),
    files: volumes.some((volume) => volume.name !== IDENTITY_VOLUME && isSecret(volume)),
    identity: volumes.some(({ name }) => name === IDENTITY_VOLUME),
  }
}

/**
 * What one must hold to see all that the containers of a pod were given, whatever the spec of its resource says by now. A pod
 * shows that values are secret, and not whose they are: that stands in the revision that it runs. Later ones count as well,
 * since a container that starts again is given what its Secret holds then. Without its revision it may be anything of the group.
 *
 * @param revisions of the resource, any order
 */
export function givenRights(pod: GivenPod, revisions: readonly ReferringRevision[]): ReferencedRight[] {
  const { variables, files, identity } = waysOf(pod)
  const ofIdentity = referencedRights({ managedIdentity: identity })
  if (!variables && !files) return ofIdentity
  const { [REVISION_LABEL]: label, [COMPONENT_LABEL]: component } = pod.metadata.labels ?? {}
  const since = revisions.flatMap(({ number, refers: { components = [], volumes = [] } }) => {
    const own = components.filter((one) => (one.name ?? component) === component)
    return number >= Number(label) ? [{ number, components: own, volumes }] : []
  })
  const running = since.find(({ number }) => number === Number(label))
  if (running === undefined || running.components.length === 0) return [...ANYTHING, ...ofIdentity]
  const ofRevisions = since.flatMap(({ components, volumes }) =>
    referencedRights({ components: variables ? components : [], volumes: files ? volumes : [] }),
  )
  return [...ofRevisions, ...ofIdentity]
}

/** What any value that can be referred to needs, at the group. */
const ANYTHING: readonly ReferencedRight[] = [
  ...new Set([
    'secretvault/readSecrets' as const,
    ...OUTPUT_COLLECTIONS.flatMap((collection) =>
      outputsOf(collection).map((output) => actionOfOutput({ collection, name: '', output })),
    ),
  ]),
].map((action) => ({ action }))
