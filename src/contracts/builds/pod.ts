import { tryParseJson } from '../../core/tryParseJson.ts'
import type { BuildRequest, BuildSettings } from './request.ts'

/** What the pod of a build is given, and where its containers exchange data; used by its creator and its program. */

/** The entries of the build's Secret. Each container sees only its own. */
export const BUILD_SECRET_KEYS = {
  /** JSON of BuildOrder: the task, without credentials. */
  order: 'order.json',
  /** In the format of `git credential-store`. */
  gitCredentials: 'git-credentials',
  privateKey: 'private-key',
  knownHosts: 'known-hosts',
  /** Docker configurations. */
  pull: 'pull.json',
  push: 'push.json',
  /** Variables of the build, in shell syntax. */
  environment: 'environment',
} as const

/** Mount paths in the pod. */
export const BUILD_MOUNT_PATHS = { secrets: '/run/build', work: '/work', state: '/home/user' } as const

/** The CA bundle that programs in the builder image trust. */
export const CA_BUNDLE_PATH = '/etc/ssl/certs/ca-certificates.crt'

/** Exit codes: success, a failure that the source caused, or a fault of the builder, which may be retried. */
export const BUILD_EXIT_CODES = { ended: 0, sourceFailed: 1, builderFailed: 70 } as const

/** What all containers of a build are told. */
export type BuildTask = {
  readonly source:
    | { kind: 'Git'; url: string; branch: string; commit?: string }
    | { kind: 'Archive'; reference: string }
  readonly recipe: Omit<BuildRequest['recipe'], 'environment' | 'timeoutSeconds'> & {
    readonly variables: readonly string[]
    /** Changes with the variables, so that nothing built with other values is taken from the cache. */
    readonly environmentVersion: string
  }
  readonly image: string
  readonly cache: string
  readonly settings: { readonly registry: string } & Pick<
    BuildSettings,
    'isRegistryInsecure' | 'imageMirror' | 'packageMirrors' | 'scannerImage' | 'certificateAuthority'
  >
}

/** The termination message of a container. */
export type TerminationMessage = {
  readonly commit?: string
  readonly runtime?: string
  readonly runtimeVersion?: string
  readonly digest?: string
  readonly failure?: string
  readonly message?: string
}

/** Maximum characters of a value. The API server keeps 4 KiB of a message, and one sentence is enough. */
const MAX_MESSAGE_CHARACTERS = 1_000
const FORMS: Readonly<Record<keyof TerminationMessage, RegExp>> = {
  commit: /^[0-9a-f]{40,64}$/,
  runtime: /^[a-z]{1,20}$/,
  runtimeVersion: /^[0-9a-z.]{1,20}$/,
  digest: /^sha256:[0-9a-f]{64}$/,
  failure: /^[A-Za-z]{1,40}$/,
  // One line, because commands of the source may have written it.
  message: /^[^\p{Cc}\p{Cf}]+$/u,
}

/** Reads a termination message. A command of the source may have written it, so malformed values are dropped. */
export function parseTerminationMessage(text: string | undefined): TerminationMessage {
  const message = tryParseJson(text ?? '')
  if (typeof message !== 'object' || message === null) return {}
  const entries = Object.entries(FORMS).flatMap(([key, form]) => {
    const value = (message as Record<string, unknown>)[key]
    return typeof value === 'string' && value.length <= MAX_MESSAGE_CHARACTERS && form.test(value) ? [[key, value]] : []
  })
  return Object.fromEntries(entries)
}
