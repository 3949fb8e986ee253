import { PREFIX } from '../core/labels.ts'
import { childName, sha256 } from '../core/names.ts'

/** The kinds whose resources run components, with the stem of the names of their children. */
const STEMS = { ContainerInstance: 'cti', PlatformApp: 'papp', StaticWebApp: 'swa' } as const
export type ContainerKind = keyof typeof STEMS

/** Names of the children of what runs components. Names of components and volumes hold no two hyphens in a row. */
export function containerNames(name: string, kind: ContainerKind = 'ContainerInstance') {
  const stem = STEMS[kind]
  return {
    /** NetworkPolicy, Ingress and HTTPRoute of the whole. */
    whole: childName(stem, name),
    /** Deployment, Service and PodDisruptionBudget of a component. */
    component: (component: string) => childName(stem, `${name}--${component}`),
    /** The Secret with what a component is given of vaults and of other resources. */
    values: (component: string) => childName(`${stem}env`, `${name}--${component}`),
    /** The Secret with the values of Secret volumes. */
    files: childName(`${stem}files`, name),
    pull: childName(`${stem}pull`, name),
    volume: (volume: string) => childName(`${stem}vol`, `${name}--${volume}`),
    revision: (number: number) => childName(`${stem}rev`, name, String(number)),
    /** The Job that runs the release command before a revision is served. */
    release: (number: number) => childName(`${stem}rel`, name, String(number)),
    certificate: (host: string) => childName(`${stem}cert`, name, sha256(host).slice(0, 10)),
  }
}

/** The same of an object, of whichever of those kinds it is. */
export function namesOf({ kind, metadata }: { kind: string; metadata: { name: string } }) {
  return containerNames(metadata.name, kind as ContainerKind)
}

/** On pods and Services: which component they are of. */
export const COMPONENT_LABEL = `${PREFIX}component`
/** The value of that label on pods that run a release command: they are no copies of anything. */
export const RELEASE_COMPONENT = 'freehold--release'
/** On the Job of a release command: hash of what it was run for, so that a failed one is run again for something else. */
export const RELEASED_FOR_ANNOTATION = `${PREFIX}released-for`
/** On pods: the number of the revision that they run. */
export const REVISION_LABEL = `${PREFIX}revision`

/** The digest in what the kubelet calls the image of a running container; undefined before it was pulled. */
export function digestOfImage(imageId: string | undefined): string | undefined {
  return /@(sha256:[0-9a-f]{64})$/.exec(imageId ?? '')?.[1]
}

/** Fields that decide who gets to see the values that an instance refers to. */
export const CONTENT_FIELDS = ['components', 'volumes', 'parameters', 'backupPolicy', 'managedIdentity'] as const

const PLACEHOLDER = /\$\{([A-Za-z0-9_.-]{1,128})\}/g

type Parametrised = {
  command: readonly string[]
  args: readonly string[]
  env: readonly { value?: string | undefined }[]
}

/** Names that a component asks for and that are no parameters, in the order of the alphabet. */
export function unknownParameters({ command, args, env }: Parametrised, parameters: object): string[] {
  const texts = [...command, ...args, ...env.map(({ value = '' }) => value)]
  const asked = texts.flatMap((text) => [...text.matchAll(PLACEHOLDER)].map(([, name = '']) => name))
  return [...new Set(asked)].filter((name) => !Object.hasOwn(parameters, name)).sort()
}

export function withParameters(text: string, parameters: Readonly<Record<string, string>>): string {
  return text.replaceAll(PLACEHOLDER, (whole, name: string) => parameters[name] ?? whole)
}

type Mounting = { name: string; replicas: number; mounts: readonly { volume: string }[] }
type Mounted = { name: string; kind: string; storageClass?: string | undefined }

/** Why a volume that one node only can mount is not for a component that runs several times; undefined if none is. */
export function unsharedUse(
  { components, volumes }: { components: readonly Mounting[]; volumes: readonly Mounted[] },
  isShared: (storageClass: string | undefined) => boolean,
): { volume: string; message: string } | undefined {
  for (const { name, kind, storageClass } of volumes) {
    if (kind !== 'Persistent' || isShared(storageClass)) continue
    const many = components.find(({ replicas, mounts }) => replicas > 1 && mounts.some(({ volume }) => volume === name))
    if (many === undefined) continue
    const message = `Volume "${name}" is mounted by component "${many.name}", of which ${many.replicas} run: that needs a storage class whose volumes can be shared.`
    return { volume: name, message }
  }
  return undefined
}
