import { parsedJson } from '../../core/parsedJson.ts'
import type { BuildRequest, BuildSettings } from './request.ts'

/** What the pod of a build is told, and where its parts find what they hand on: known to whoever makes it and to its program. */

/** The entries of the build's Secret. Each container sees its own only. */
export const BUILD_ENTRIES = {
  /** JSON of BuildOrder: what is to be done, without credentials. */
  order: 'order.json',
  /** As `git credential-store` keeps it. */
  gitCredentials: 'git-credentials',
  privateKey: 'private-key',
  knownHosts: 'known-hosts',
  /** Docker configurations. */
  pull: 'pull.json',
  push: 'push.json',
  /** Variables of the build, as a shell reads them. */
  environment: 'environment',
} as const

/** Where they are mounted. */
export const BUILD_FOLDERS = { secrets: '/run/build', work: '/work', state: '/home/user' } as const

/** Whom programs in the image of the builder believe. */
export const AUTHORITY_BUNDLE = '/etc/ssl/certs/ca-certificates.crt'

/** How a part ends: well, by what the source is the cause of, or by a fault of its own, after which it may be tried again. */
export const BUILD_EXITS = { ended: 0, sourceFailed: 1, builderFailed: 70 } as const

/** What all parts of a build are told. */
export type BuildOrder = {
  readonly source:
    | { kind: 'Git'; url: string; branch: string; commit?: string }
    | { kind: 'Archive'; reference: string }
  readonly recipe: Omit<BuildRequest['recipe'], 'environment' | 'timeoutSeconds'> & {
    readonly variables: readonly string[]
    /** Changes with the variables: what was built with others is not taken from the cache. */
    readonly environmentVersion: string
  }
  readonly image: string
  readonly cache: string
  readonly settings: { readonly registry: string } & Pick<
    BuildSettings,
    'isRegistryInsecure' | 'imageMirror' | 'packageMirrors' | 'scannerImage' | 'certificateAuthority'
  >
}

/** What a container says when it ends (its termination message). */
export type BuildWord = {
  readonly commit?: string
  readonly runtime?: string
  readonly runtimeVersion?: string
  readonly digest?: string
  readonly failure?: string
  readonly message?: string
}

/** The API server keeps 4 KiB of it; what is longer than a sentence is of no use. */
const MOST_OF_A_MESSAGE = 1_000
const FORMS: Readonly<Record<keyof BuildWord, RegExp>> = {
  commit: /^[0-9a-f]{40,64}$/,
  runtime: /^[a-z]{1,20}$/,
  runtimeVersion: /^[0-9a-z.]{1,20}$/,
  digest: /^sha256:[0-9a-f]{64}$/,
  failure: /^[A-Za-z]{1,40}$/,
  // One line: commands of a source may have written it.
  message: /^[^\p{Cc}\p{Cf}]+$/u,
}

/** Reads a termination message, which a command of the source may have written: what has another form counts as not said. */
export function readWord(text: string | undefined): BuildWord {
  const said = parsedJson(text ?? '')
  if (typeof said !== 'object' || said === null) return {}
  const entries = Object.entries(FORMS).flatMap(([key, form]) => {
    const value = (said as Record<string, unknown>)[key]
    return typeof value === 'string' && value.length <= MOST_OF_A_MESSAGE && form.test(value) ? [[key, value]] : []
  })
  return Object.fromEntries(entries)
}
