import { PREFIX } from '../../core/labels.ts'
import { childName, sha256 } from '../../core/names.ts'

/** Phases of a build, in the order of its containers; each runs when the previous one has succeeded. */
export const BUILD_PHASES = ['Cloning', 'Building', 'Pushing'] as const
export type BuildPhase = (typeof BUILD_PHASES)[number]

/** The containers of the pod, in that order. The log of a build is theirs, one after the other. */
export const BUILD_CONTAINERS = ['source', 'build', 'push'] as const
export type BuildContainer = (typeof BUILD_CONTAINERS)[number]

/** The namespace of builds. Tenants have no rights there: building an image needs more than their pods may have. */
export const BUILD_NAMESPACE = 'freehold-builds'

/** Label on every object of a build: the id of its deployment. */
export const BUILD_LABEL = `${PREFIX}build`

/** The deployment that a build belongs to. Callers choose ids, so two namespaces may have the same. */
export type BuiltDeployment = { readonly namespace: string; readonly name: string }

/** Name of the Job, the Secret and the network policy of a build. */
export function buildName({ namespace, name }: BuiltDeployment): string {
  return childName('build', name, sha256(namespace).slice(0, 10))
}

export const BUILD_OUTCOMES = ['Succeeded', 'Failed', 'TimedOut'] as const
export type BuildOutcome = (typeof BUILD_OUTCOMES)[number]

/** Why a build failed, for code that decides by it. */
export const BUILD_FAILURES = [
  /** The repository, its branch or commit cannot be read. */
  'SourceUnreachable',
  /** The archive contains something that is not unpacked, or too much. */
  'SourceRefused',
  /** There is nothing that the platform can build, or the request contradicts itself. */
  'NothingToBuild',
  /** A command of the build, or its Dockerfile, failed. */
  'CommandFailed',
  'OutOfMemory',
  'OutOfDisk',
  'PushFailed',
  'TimedOut',
  /** A fault of the platform, not of the source. */
  'BuilderFailed',
] as const
export type BuildFailure = (typeof BUILD_FAILURES)[number]

export type BuildProgress = {
  /** Undefined until the first container runs. */
  readonly phase: BuildPhase | undefined
  /** Undefined while the build runs. */
  readonly outcome: BuildOutcome | undefined
  readonly failure?: BuildFailure | undefined
  /** One plain sentence. */
  readonly message: string
  readonly startedAt?: string | undefined
  readonly finishedAt?: string | undefined
  /** Known as soon as the source is fetched; never for archives. */
  readonly commit?: string | undefined
  /** The detected runtime, such as `nodejs` `24`. */
  readonly runtime?: string | undefined
  readonly runtimeVersion?: string | undefined
  /** Digest of the pushed image; only after success. */
  readonly digest?: string | undefined
}
