import { PREFIX } from '../core/labels.ts'
import { childName, sha256 } from '../core/names.ts'

/** The kinds whose resources run components, with the prefix of their children's names. */
const NAME_PREFIXES = { ContainerInstance: 'cti', PlatformApp: 'papp', StaticWebApp: 'swa' } as const
export type ContainerKind = keyof typeof NAME_PREFIXES

/** Names of a resource's children, unambiguous because names of components and volumes have no double hyphen. */
export function containerNames(name: string, kind: ContainerKind = 'ContainerInstance') {
  const stem = NAME_PREFIXES[kind]
  return {
    /** NetworkPolicy, Ingress and HTTPRoute of the resource. */
    whole: childName(stem, name),
    /** Deployment, Service and PodDisruptionBudget of a component. */
    component: (component: string) => childName(stem, `${name}--${component}`),
    /** The Secret with a component's values from vaults and from other resources. */
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

/** Returns the names for an object of any of these kinds. */
export function containerNamesOf({ kind, metadata }: { kind: string; metadata: { name: string } }) {
  return containerNames(metadata.name, kind as ContainerKind)
}

/** Label on pods and Services: their component. */
export const COMPONENT_LABEL = `${PREFIX}component`
/** Value of that label on pods that run a release command: they are not replicas of any component. */
export const RELEASE_COMPONENT = 'freehold--release'
/** Annotation on the Job of a release command: hash of its input, so that a failed one runs again for a new input. */
export const RELEASED_FOR_ANNOTATION = `${PREFIX}released-for`
/** Label on pods: the number of the revision that they run. */
export const REVISION_LABEL = `${PREFIX}revision`

/** Returns the digest in a running container's imageID; undefined before the image is pulled. */
export function digestOfImage(imageId: string | undefined): string | undefined {
  return /@(sha256:[0-9a-f]{64})$/.exec(imageId ?? '')?.[1]
}

/** Fields that decide who may see the values that an instance refers to. */
export const SECRET_ACCESS_FIELDS = ['components', 'volumes', 'parameters', 'backupPolicy', 'managedIdentity'] as const

const PLACEHOLDER = /\$\{([A-Za-z0-9_.-]{1,128})\}/g

type ParametrizedComponent = {
  command: readonly string[]
  args: readonly string[]
  env: readonly { value?: string | undefined }[]
}

/** Returns the placeholders of a component that are not parameters, in alphabetical order. */
export function unknownParameters({ command, args, env }: ParametrizedComponent, parameters: object): string[] {
  const texts = [...command, ...args, ...env.map(({ value = '' }) => value)]
  const placeholders = texts.flatMap((text) => [...text.matchAll(PLACEHOLDER)].map(([, name = '']) => name))
  return [...new Set(placeholders)].filter((name) => !Object.hasOwn(parameters, name)).sort()
}

export function substituteParameters(text: string, parameters: Readonly<Record<string, string>>): string {
  return text.replaceAll(PLACEHOLDER, (whole, name: string) => parameters[name] ?? whole)
}

type Mounting = { name: string; replicas: number; mounts: readonly { volume: string }[] }
type Mounted = { name: string; kind: string; storageClass?: string | undefined }

/** Returns why a component with replicas cannot mount a volume that one node holds; undefined if none does. */
export function sharedVolumeObstacle(
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
