import type { Network } from '../networks.ts'
import type { RepositoryName } from '../registry/names.ts'

/** The request for one build. It contains credentials, so it is never stored whole and never logged. */
export type BuildRequest = {
  /** The owner of the image. */
  readonly owner: RepositoryName
  /** The id of the deployment, which is part of the name of every object of the build. */
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
      /** The full hash; the newest commit of the branch if absent. */
      readonly commit?: string | undefined
      readonly credentials?: GitCredentials | undefined
      /** Addresses of the host that passed the rules: the build may reach them, beside what settings open for all. */
      readonly hostAddresses?: readonly string[] | undefined
    }
  | {
      readonly kind: 'Archive'
      /** A tar.gz in the registry: `<repository>@sha256:<digest of its manifest>`, as `sourceArchives` keeps it. */
      readonly reference: string
    }

/** A token that reads only this repository, where the provider has such tokens; or an ssh key. */
export type GitCredentials =
  | { readonly username: string; readonly token: string }
  | {
      readonly privateKey: string
      /** Lines of known_hosts: no other host key is accepted. */
      readonly knownHosts: string
    }

export type BuildRecipe = {
  /** What the image is for: a process that listens, or files that our web server serves. */
  readonly purpose: 'Service' | 'Site'
  /** A name of RUNTIMES and one of its versions; detected if absent. */
  readonly runtime?: string | undefined
  readonly runtimeVersion?: string | undefined
  /** Replaces the runtime's own builder image. */
  readonly builderImage?: string | undefined
  readonly buildCommand?: string | undefined
  readonly startCommand?: string | undefined
  /** Below `rootPath`. If it is set, nothing is detected. */
  readonly dockerfilePath?: string | undefined
  /** The folder of the repository that is built, for example `/` or `/services/shop`. */
  readonly rootPath: string
  /** Where the build leaves the files of a site, below `rootPath`. */
  readonly outputPath?: string | undefined
  readonly port: number
  readonly environment: readonly BuildVariable[]
  readonly timeoutSeconds: number
  readonly site?: SiteOptions | undefined
  /** Files that are added to the source, by path below `rootPath`, such as a handler's server. 1 MiB in all. */
  readonly files?: Readonly<Record<string, string>> | undefined
}

/** Commands of the build see the value; neither the image nor its history contains it. */
export type BuildVariable = { readonly name: string; readonly value: string }

export type SiteOptions = {
  readonly isSinglePage: boolean
  readonly notFoundPage: string
  readonly cacheControl: string
  readonly headers: Readonly<Record<string, string>>
  /** Served below `/api` through a proxy. */
  readonly proxyUrl?: string | undefined
}

export type BuildTarget = {
  /** Host and port, as names of images begin. */
  readonly registry: string
  /** `<boundaryId>/<resourceGroup>/<collection>/<name>`. */
  readonly repository: string
  readonly tag: string
  /**
   * Name of the cache within the repository; builds of one branch share it. Only credentials of this deployment reach
   * it, and they open only this repository.
   */
  readonly cache: string
  /** For the container that builds: reads this repository. Absent if the registry needs no credentials. */
  readonly pull?: RegistryAccount | undefined
  /** For the container that pushes: no command of the source ever runs beside it. */
  readonly push?: RegistryAccount | undefined
}

export type RegistryAccount = { readonly username: string; readonly password: string }

/** What the administrator of the platform sets for all builds. */
export type BuildSettings = {
  /** The builder image: `npm run image` makes it, as `freehold-builder`. */
  readonly image: string
  /** Whether the registry, and mirrors on it, speak plain HTTP. */
  readonly isRegistryInsecure: boolean
  /** PEM of further authorities for Git hosts, beside the public ones. */
  readonly certificateAuthority?: string | undefined
  /** Mirror for images of other registries, such as `10.200.0.1:5000`. */
  readonly imageMirror?: string | undefined
  /** Networks that a build may reach beside DNS: the registry, Git hosts, package mirrors. */
  readonly networks: readonly Network[]
  readonly packageMirrors?: PackageMirrors | undefined
  /** The image that lists the contents of images; no list (SBOM) is made without it. */
  readonly scannerImage?: string | undefined
  readonly cpuLimit: string
  readonly memoryLimit: string
  /** For the source, layers and image of one build; all of it is deleted with the build. */
  readonly diskLimit: string
  /** The part of that which is reserved on the node. */
  readonly diskRequest: string
  /** Isolates builds: labels of nodes, and a RuntimeClass with a sandbox such as Kata. */
  readonly nodeSelector?: Readonly<Record<string, string>> | undefined
  readonly runtimeClassName?: string | undefined
}

/** Package registries in place of the public ones. */
export type PackageMirrors = {
  readonly npm?: string | undefined
  readonly pypi?: string | undefined
  readonly go?: string | undefined
  readonly maven?: string | undefined
}
