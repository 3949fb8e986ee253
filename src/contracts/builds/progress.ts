import { PREFIX } from '../../core/labels.ts'
import { childName, sha256 } from '../../core/names.ts'

/** How far a build is, in the order of the containers that do it; each runs when the one before has ended well. */
export const BUILD_PHASES = ['Cloning', 'Building', 'Pushing'] as const
export type BuildPhase = (typeof BUILD_PHASES)[number]

/** The containers of the pod, in that order. The log of a build is theirs, one after the other. */
export const BUILD_CONTAINERS = ['source', 'build', 'push'] as const
export type BuildContainer = (typeof BUILD_CONTAINERS)[number]

/** Where builds run. Tenants have no rights there: what builds images needs more than the pods of tenants may have. */
export const BUILD_NAMESPACE = 'freehold-builds'

/** On everything of a build: the id of its deployment. */
export const BUILD_LABEL = `${PREFIX}build`

/** The deployment that a build is of. Callers choose ids: two namespaces may have the same. */
export type BuiltDeployment = { readonly namespace: string; readonly name: string }

/** The Job, the Secret and the network policy of a build have one name. */
export function buildName({ namespace, name }: BuiltDeployment): string {
  return childName('build', name, sha256(namespace).slice(0, 10))
}

export const BUILD_OUTCOMES = ['Succeeded', 'Failed', 'TimedOut'] as const
export type BuildOutcome = (typeof BUILD_OUTCOMES)[number]

/** Why a build failed, for whoever decides by it. */
export const BUILD_FAILURES = [
  /** The repository, its branch or commit cannot be read. */
  'SourceUnreachable',
  /** The archive holds what is not unpacked, or too much of it. */
  'SourceRefused',
  /** Nothing that we know how to build was found, or it contradicts itself. */
  'NothingToBuild',
  /** A command of the build, or its Dockerfile, failed. */
  'CommandFailed',
  'OutOfMemory',
  'OutOfDisk',
  'PushFailed',
  'TimedOut',
  /** Ours, not the source's. */
  'BuilderFailed',
] as const
export type BuildFailure = (typeof BUILD_FAILURES)[number]

export type BuildProgress = {
  /** Undefined until the first container runs. */
  readonly phase: BuildPhase | undefined
  /** Undefined while it runs. */
  readonly outcome: BuildOutcome | undefined
  readonly failure?: BuildFailure | undefined
  /** One plain sentence. */
  readonly message: string
  readonly startedAt?: string | undefined
  readonly finishedAt?: string | undefined
  /** Known as soon as the source is there, but for archives. */
  readonly commit?: string | undefined
  /** What was found, such as `nodejs` `24`. */
  readonly runtime?: string | undefined
  readonly runtimeVersion?: string | undefined
  /** Of the pushed image; with success only. */
  readonly digest?: string | undefined
}
