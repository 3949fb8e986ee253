import type { KubeObject } from '../core/object.ts'
import { COMPONENT_LABEL, REVISION_LABEL } from './containerinstances.ts'
import { IDENTITY_VOLUME } from './managedIdentities.ts'
import {
  actionOfOutput,
  OUTPUT_COLLECTIONS,
  outputsOf,
  type ReferencedRight,
  referencedRights,
  type ValueReferences,
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

/** The parts of a pod that show what its containers were given. */
export type PodWithSecrets = KubeObject & {
  spec?: {
    containers?: readonly Variables[]
    initContainers?: readonly Variables[]
    ephemeralContainers?: readonly Variables[]
    volumes?: readonly Volume[]
  }
}

type Component = NonNullable<ValueReferences['components']>[number] & { name?: string }

/** References of a revision of the pod's resource; components have names if there are several. */
export type ReferringRevision = {
  number: number
  refers: Omit<ValueReferences, 'components'> & { components?: readonly Component[] }
}

/** Returns in which ways a pod was given secret values. */
export function secretUsesOfPod({ spec = {} }: PodWithSecrets): {
  variables: boolean
  files: boolean
  identity: boolean
} {
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
 * Returns the rights needed to see everything that a pod's containers were given, whatever the spec of its resource
 * says by now. A pod shows that values are secret, but not whose they are: that is in the revision that it runs. Later
 * revisions count as well, because a restarted container gets the current content of its Secret. If the revision is
 * unknown, it may be any value of the group.
 *
 * @param revisions of the resource, in any order
 */
export function podSecretRights(pod: PodWithSecrets, revisions: readonly ReferringRevision[]): ReferencedRight[] {
  const { variables, files, identity } = secretUsesOfPod(pod)
  const ofIdentity = referencedRights({ managedIdentity: identity })
  if (!variables && !files) return ofIdentity
  const { [REVISION_LABEL]: label, [COMPONENT_LABEL]: component } = pod.metadata.labels ?? {}
  const since = revisions.flatMap(({ number, refers: { components = [], volumes = [] } }) => {
    const own = components.filter((one) => (one.name ?? component) === component)
    return number >= Number(label) ? [{ number, components: own, volumes }] : []
  })
  const running = since.find(({ number }) => number === Number(label))
  if (running === undefined || running.components.length === 0) return [...ALL_RIGHTS, ...ofIdentity]
  const ofRevisions = since.flatMap(({ components, volumes }) =>
    referencedRights({ components: variables ? components : [], volumes: files ? volumes : [] }),
  )
  return [...ofRevisions, ...ofIdentity]
}

/** The rights for every value of the group that can be referred to. */
const ALL_RIGHTS: readonly ReferencedRight[] = [
  ...new Set([
    'secretvault/readSecrets' as const,
    ...OUTPUT_COLLECTIONS.flatMap((collection) =>
      outputsOf(collection).map((output) => actionOfOutput({ collection, name: '', output })),
    ),
  ]),
].map((action) => ({ action }))
