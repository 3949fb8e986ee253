import type { Network } from '../networks.ts'
import type { RepositoryName } from '../registry/names.ts'

/** What one build is asked for, by whoever starts it. Credentials are in it: it is never stored whole, nor logged. */
export type BuildRequest = {
  /** Whose image it becomes. */
  readonly owner: RepositoryName
  /** The id of its deployment, which is in the name of everything that is made for it. */
  readonly deploymentId: string
  readonly source: BuildSource
  readonly recipe: BuildRecipe
  readonly target: BuildTarget
}

export type BuildSource =
  | {
      readonly kind: 'Git'
      /** https or ssh, without credentials; its host passed the rules for outgoing addresses. */
      readonly url: string
      readonly branch: string
      /** All of its digits; the newest of the branch if absent. */
      readonly commit?: string | undefined
      readonly credentials?: GitCredentials | undefined
      /** Those of its host that passed the rules: the build may reach them, besides what settings open for all builds. */
      readonly hostAddresses?: readonly string[] | undefined
    }
  | {
      readonly kind: 'Archive'
      /** A tar.gz in the registry: `<repository>@sha256:<digest of its manifest>`, as `sourceArchives` keeps it. */
      readonly reference: string
    }

/** Of a token that reads this one repository where the provider makes such; or a key for ssh. */
export type GitCredentials =
  | { readonly username: string; readonly token: string }
  | {
      readonly privateKey: string
      /** Lines of known_hosts: no other host is believed. */
      readonly knownHosts: string
    }

export type BuildRecipe = {
  /** What the image is for: a process that listens, or files that our web server serves. */
  readonly purpose: 'Service' | 'Site'
  /** A name of RUNTIMES and one of its versions; detected if absent. */
  readonly runtime?: string | undefined
  readonly runtimeVersion?: string | undefined
  /** In the place of the runtime's own image for building. */
  readonly builderImage?: string | undefined
  readonly buildCommand?: string | undefined
  readonly startCommand?: string | undefined
  /** Below `rootPath`. With it nothing is detected. */
  readonly dockerfilePath?: string | undefined
  /** The folder of the repository that is built, for example `/` or `/services/shop`. */
  readonly rootPath: string
  /** Where the build leaves the files of a site, below `rootPath`. */
  readonly outputPath?: string | undefined
  readonly port: number
  readonly environment: readonly BuildVariable[]
  readonly timeoutSeconds: number
  readonly site?: SiteOptions | undefined
  /** Files that are laid over the source, by path below `rootPath`: a handler's server, for example. 1 MiB in all. */
  readonly files?: Readonly<Record<string, string>> | undefined
}

/** Values reach commands of the build, and are neither in the image nor in its history. */
export type BuildVariable = { readonly name: string; readonly value: string }

export type SiteOptions = {
  readonly isSinglePage: boolean
  readonly notFoundPage: string
  readonly cacheControl: string
  readonly headers: Readonly<Record<string, string>>
  /** Served below `/api`. */
  readonly proxyUrl?: string | undefined
}

export type BuildTarget = {
  /** As names of images begin: host and port. */
  readonly registry: string
  /** `<boundaryId>/<resourceGroup>/<collection>/<name>`. */
  readonly repository: string
  readonly tag: string
  /**
   * Names the cache among those of the repository: builds of one branch share one. Only this deployment's own
   * credentials reach it, which open one repository.
   */
  readonly cache: string
  /** For the part that builds: reads this repository. Absent where the registry asks nobody. */
  readonly pull?: RegistryAccount | undefined
  /** For the part that pushes: no command of the source ever runs beside it. */
  readonly push?: RegistryAccount | undefined
}

export type RegistryAccount = { readonly username: string; readonly password: string }

/** What the administrator of the platform decides for all builds. */
export type BuildSettings = {
  /** The image that builds: `npm run image` makes it, as `freehold-builder`. */
  readonly image: string
  /** Whether the registry, and mirrors on it, speak plain HTTP. */
  readonly isRegistryInsecure: boolean
  /** PEM: who else signs for Git hosts, beside those that everybody believes. */
  readonly certificateAuthority?: string | undefined
  /** Where images of other registries are fetched instead, such as `10.200.0.1:5000`. */
  readonly imageMirror?: string | undefined
  /** Networks that a build may reach beside names: the registry, Git hosts, mirrors of packages. */
  readonly networks: readonly Network[]
  readonly packageMirrors?: PackageMirrors | undefined
  /** The image that lists the contents of an image; no list (SBOM) is made without. */
  readonly scannerImage?: string | undefined
  readonly cpuLimit: string
  readonly memoryLimit: string
  /** For the source, layers and the image of one build, all of it gone with the build. */
  readonly diskLimit: string
  /** What of it is reserved on the node. */
  readonly diskRequest: string
  /** Runs builds apart from everything else: labels of nodes, and a class of sandboxes such as Kata's. */
  readonly nodeSelector?: Readonly<Record<string, string>> | undefined
  readonly runtimeClassName?: string | undefined
}

/** Addresses of registries of packages, in the place of the public ones. */
export type PackageMirrors = {
  readonly npm?: string | undefined
  readonly pypi?: string | undefined
  readonly go?: string | undefined
  readonly maven?: string | undefined
}
