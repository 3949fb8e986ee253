import manifest from '../../package.json' with { type: 'json' }

/** The version of this release (SemVer), of the platform and of its command-line client alike. */
export const VERSION: string = manifest.version

/** Of Kubernetes 1: what the platform is installed on has this minor version or a newer one. */
export const OLDEST_KUBERNETES_MINOR = 34
